import { Suspense, lazy } from "react";
import classes from "./markdown.module.css";

// Fetched as soon as a page that shows text is: by the time text arrives it is there.
const loading = import("./MarkdownView");
const MarkdownView = lazy(() => loading);

export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  return (
    <Suspense fallback={<div className={`${classes.markdown} ${classes.plain}`}>{text}</div>}>
      <MarkdownView streaming={streaming}>{text}</MarkdownView>
    </Suspense>
  );
}
