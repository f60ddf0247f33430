/** What the details pane shows: what a person chose, else what happens at the moment. */
import type { Phase } from "./phase";
import type { RunView } from "./types";

export type Selection = { type: "model" | "tool"; id: string } | null;

export function selectionOf(view: RunView, chosen: string | null, phase: Phase): Selection {
  if (chosen !== null && view.toolCalls[chosen] !== undefined) return { type: "tool", id: chosen };
  if (chosen !== null && view.modelCalls[chosen] !== undefined) return { type: "model", id: chosen };
  return phase === "live" ? latest(view) : null;
}

function latest(view: RunView): Selection {
  for (const iteration of view.iterations.toReversed()) {
    for (const item of iteration.items.toReversed()) {
      if (item.type === "tool" || item.type === "model") return { type: item.type, id: item.key };
    }
  }
  return null;
}
