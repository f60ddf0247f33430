import { Suspense, lazy } from "react";
import classes from "./markdown.module.css";

const MarkdownView = lazy(() => import("./MarkdownView"));

export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  return (
    <Suspense fallback={<div className={`${classes.markdown} ${classes.plain}`}>{text}</div>}>
      <MarkdownView streaming={streaming}>{text}</MarkdownView>
    </Suspense>
  );
}
