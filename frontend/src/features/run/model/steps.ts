/** The tree of steps: an iteration with its model calls and tool calls, named by what it is about. */
import type { IterationView, ModelCallView, RunView, ToolCallView } from "./types";

export type StepState = "running" | "ok" | "bad" | "lost" | "stopped";

export type StepLeaf = { type: "model"; call: ModelCallView; state: StepState } | { type: "tool"; call: ToolCallView; state: StepState };

export interface Step {
  number: number;
  title: string;
  state: StepState;
  startedAt: number;
  endedAt: number | null;
  leaves: StepLeaf[];
}

const LONGEST_TITLE = 64;

export function stepsOf(view: RunView): Step[] {
  return view.iterations.map((iteration) => stepOf(view, iteration));
}

function stepOf(view: RunView, iteration: IterationView): Step {
  const leaves = iteration.items.flatMap((item) => leafOf(view, item.type, item.key) ?? []);
  return {
    number: iteration.number,
    title: titleOf(iteration.number, leaves),
    state: stateOf(iteration, leaves, view),
    startedAt: iteration.startedAt,
    endedAt: iteration.endedAt,
    leaves,
  };
}

function leafOf(view: RunView, type: string, key: string): StepLeaf | null {
  if (type === "model") {
    const call = view.modelCalls[key];
    return call ? { type: "model", call, state: modelState(call) } : null;
  }
  if (type === "tool") {
    const call = view.toolCalls[key];
    return call ? { type: "tool", call, state: toolState(call) } : null;
  }
  return null;
}

export function modelState({ state }: ModelCallView): StepState {
  if (state === "STARTED") return "running";
  if (state === "SETTLED") return "ok";
  if (state === "CANCELLED") return "stopped";
  return state === "LOST" ? "lost" : "bad";
}

export function toolState({ state, exitCode }: ToolCallView): StepState {
  if (state === "STARTED") return "running";
  if (state === "SUCCEEDED") return exitCode === null || exitCode === 0 ? "ok" : "bad";
  if (state === "CANCELLED" || state === "INTERRUPTED") return "stopped";
  return state === "LOST" ? "lost" : "bad";
}

/** An iteration whose last word was a failure shows it; one that recovered inside does not. */
function stateOf(iteration: IterationView, leaves: StepLeaf[], view: RunView): StepState {
  if (iteration.endedAt === null) return "running";
  const last = leaves.findLast((leaf) => leaf.type === "model");
  const isMadeGood = (leaf: StepLeaf) => leaf.state === "lost" || (leaf.type === "model" && leaf !== last);
  const states = leaves.filter((leaf) => !isMadeGood(leaf)).map((leaf) => leaf.state);
  if (states.includes("bad")) return "bad";
  if (states.includes("stopped") || states.includes("running")) return "stopped";
  if (states.length > 0 || view.status === "SUCCEEDED" || view.endedAt === null) return "ok";
  return view.status === "FAILED" ? "bad" : "stopped";
}

/** The first sentence that the model wrote, once it stands; until then what the iteration runs. */
function titleOf(number: number, leaves: StepLeaf[]): string {
  for (const leaf of leaves) {
    if (leaf.type !== "model") continue;
    const sentence = firstSentence(leaf.call.text, leaf.call.state !== "STARTED");
    if (sentence !== null) return sentence;
  }
  const tools = new Set(leaves.flatMap((leaf) => (leaf.type === "tool" ? [leaf.call.tool] : [])));
  return tools.size === 0 ? `Iteration ${number}` : [...tools].join(", ");
}

/** "I will read the file" is a step called "Read the file". */
function withoutAnnouncement(sentence: string): string {
  const deed = sentence.replace(/^(?:(?:now|first|next),? )?(?:I will|I'll|I am going to|I'm going to|let me|let's) (?:now |first |then )?/i, "");
  return deed === sentence ? sentence : deed.charAt(0).toUpperCase() + deed.slice(1);
}

export function firstSentence(text: string, isComplete: boolean): string | null {
  const plain = text.replace(/[`*_#>]/g, "").trimStart();
  const end = plain.search(/[.!?:](?=\s|$)|\n/);
  if (plain === "" || (end < 0 && !isComplete)) return null;
  const sentence = withoutAnnouncement((end < 0 ? plain : plain.slice(0, end)).trim());
  if (sentence === "") return null;
  return sentence.length <= LONGEST_TITLE ? sentence : `${sentence.slice(0, LONGEST_TITLE - 1).trimEnd()}…`;
}
