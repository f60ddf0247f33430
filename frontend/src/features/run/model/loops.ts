/** A loop in words: its kind, what came of it, and where the calls are that match. */
import type { LoopView } from "./types";

export function kindOf({ kind, period, count }: LoopView): string {
  switch (kind) {
    case "REPEATED_CALL":
      return `The same call, ${count} times`;
    case "REPEATED_ERROR":
      return `The same error, ${count} times`;
    case "CYCLE":
      return `A cycle of ${period} calls, ${count} times`;
    case "POLL_LIMIT":
      return `Polled ${count} times`;
    default:
      return `A loop, ${count} times`;
  }
}

export function consequenceOf({ action, pardoned }: LoopView): string {
  if (pardoned) return "Let pass: a person had overridden the loop guard.";
  if (action === "WARN") return "The model was told.";
  return action === "BLOCK" ? "The call was not run, and the model was told." : "The run stops here.";
}

/** Each iteration once. */
export function iterationsOf({ iterations }: LoopView): string {
  return [...new Set(iterations)].join(", ");
}
