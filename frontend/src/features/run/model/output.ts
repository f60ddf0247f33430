import { revealDirection } from "@/lib/format";
import type { ToolOutput } from "./types";

/** Characters of one tool's output that the page keeps; the whole is in the log and its artifact. */
export const OUTPUT_CAP = 256 * 1024;
/** Cutting in steps keeps a chatty tool from copying its buffer at every event. */
const CUT_STEP = 32 * 1024;
const STDERR_TAIL = 2_000;

export const NO_OUTPUT: ToolOutput = { text: "", droppedChars: 0, stderrTail: "" };

export function appendOutput(output: ToolOutput, printed: string, stream: string): ToolOutput {
  const text = revealDirection(printed);
  const whole = output.text + text;
  const cut = whole.length > OUTPUT_CAP + CUT_STEP ? headToCut(whole) : 0;
  return {
    text: cut === 0 ? whole : whole.slice(cut),
    droppedChars: output.droppedChars + cut,
    stderrTail: stream === "STDERR" ? (output.stderrTail + text).slice(-STDERR_TAIL) : output.stderrTail,
  };
}

/** Cuts behind a line break where one is near, so that no escape sequence is halved. */
function headToCut(whole: string): number {
  const least = whole.length - OUTPUT_CAP;
  const lineEnd = whole.indexOf("\n", least);
  return lineEnd >= 0 && lineEnd - least < CUT_STEP ? lineEnd + 1 : least;
}
