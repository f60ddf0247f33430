import Markdown from "markdown-to-jsx/react";
import type { AnchorHTMLAttributes, ImgHTMLAttributes } from "react";
import classes from "./markdown.module.css";

/** Renders what a model wrote. Raw HTML stays text, and nothing is loaded from elsewhere. */
export default function MarkdownView({ children, streaming = false }: { children: string; streaming?: boolean }) {
  return (
    <div className={classes.markdown} data-streaming={streaming || undefined}>
      <Markdown
        options={{
          disableParsingRawHTML: true,
          forceBlock: true,
          optimizeForStreaming: streaming,
          overrides: { a: OuterLink, img: ImageName },
        }}
      >
        {children}
      </Markdown>
    </div>
  );
}

function OuterLink({ children, href, title }: AnchorHTMLAttributes<HTMLAnchorElement>) {
  return (
    <a href={href} title={title} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function ImageName({ alt, src }: ImgHTMLAttributes<HTMLImageElement>) {
  return <em className="dim">[image: {alt || String(src)}]</em>;
}
