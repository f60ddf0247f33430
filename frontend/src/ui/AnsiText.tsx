import { memo } from "react";
import { lastLines } from "@/lib/ansi";
import type { AnsiSegment } from "@/lib/ansi";

interface Props {
  text: string;
  lines: number;
  /** The last line of a failed program says what went wrong. */
  markLast?: boolean;
}

export const AnsiText = memo(function AnsiText({ text, lines, markLast = false }: Props) {
  const rows = lastLines(text, lines);
  return rows.map((segments, index) => (
    // The rows of a tail have no identity but their place.
    // oxlint-disable-next-line react/no-array-index-key
    <div key={index} className={markLast && index === rows.length - 1 ? "bad" : undefined}>
      {segments.length === 0 ? "\u200b" : segments.map(renderSegment)}
    </div>
  ));
});

function renderSegment({ text, color, bold, dim }: AnsiSegment, index: number) {
  if (color === null && !bold && !dim) return text;
  const style = { ...(color && { color }), ...(bold && { fontWeight: 600 }), ...(dim && { opacity: 0.7 }) };
  return (
    <span key={index} style={style}>
      {text}
    </span>
  );
}
