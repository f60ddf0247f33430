/**
 * The fold turns an execution's log into what the run page shows. It is the only reader of the log:
 * every part of the page derives from its result. Each sequence counts once and in order, whatever
 * arrives twice, late or early; a part that a new attempt supersedes is dropped as if never read.
 */
import { applyEvent } from "./apply";
import { addItem } from "./iterations";
import type { AttemptItem, EventOf, RunEvent, RunView } from "./types";

export interface FoldState {
  /** The last sequence folded; the log starts at 1 and has no holes. */
  sequence: number;
  /** Where a new subscription goes on. */
  cursor: string | null;
  /** Events that came before their turn, by sequence. */
  early: ReadonlyMap<number, RunEvent>;
  /** The log as it counts, without superseded parts. */
  log: readonly RunEvent[];
  /** What each later attempt found, by the sequence of its start. */
  attempts: ReadonlyMap<number, AttemptItem>;
  view: RunView;
}

export const EMPTY_VIEW: RunView = {
  task: null,
  status: null,
  attempt: 0,
  queuedAt: null,
  startedAt: null,
  endedAt: null,
  notices: [],
  iterations: [],
  modelCalls: {},
  toolCalls: {},
  lostCalls: {},
  sandboxes: [],
  artifacts: [],
  budget: null,
  budgetAt: null,
  cancelRequested: false,
  loop: null,
  stopReason: null,
  answer: null,
  errorItem: null,
};

export const EMPTY_FOLD: FoldState = {
  sequence: 0,
  cursor: null,
  early: new Map(),
  log: [],
  attempts: new Map(),
  view: EMPTY_VIEW,
};

export function foldEvent(state: FoldState, event: RunEvent): FoldState {
  return foldEvents(state, [event]);
}

export function foldEvents(state: FoldState, events: readonly RunEvent[]): FoldState {
  const early = new Map(state.early);
  for (const event of events) {
    if (Number(event.sequence) > state.sequence) early.set(Number(event.sequence), event);
  }
  let next: FoldState = { ...state, early, log: [...state.log] };
  for (let event = early.get(next.sequence + 1); event !== undefined; event = early.get(next.sequence + 1)) {
    early.delete(Number(event.sequence));
    next = { ...takeNext(next, event), sequence: Number(event.sequence), cursor: event.cursor };
  }
  return next;
}

function takeNext(state: FoldState, event: RunEvent): FoldState {
  if (event.__typename === "NodeAttemptStarted" && event.attempt > 1) return takeOver(state, event);
  // The array is the copy that foldEvents made, so growing it changes no earlier state.
  (state.log as RunEvent[]).push(event);
  return { ...state, view: applyEvent(state.view, event) };
}

/** Folds what is left anew, keeps what was spent, and notes what the attempt before left open. */
function takeOver(state: FoldState, event: EventOf<"NodeAttemptStarted">): FoldState {
  const before = state.view;
  const log = [...state.log.filter(survives(event)), event];
  const attempts = new Map(state.attempts).set(Number(event.sequence), attemptItem(state, log, event));
  const view = refold(log, attempts);
  const dropped = Object.values(before.modelCalls).filter(({ id }) => !(id in view.modelCalls));
  // What a dropped call had written is written again by the next one; only the call itself is remembered.
  const lostCalls = { ...before.lostCalls, ...Object.fromEntries(dropped.map((call) => [call.id, { ...call, text: "" }])) };
  return { ...state, log, attempts, view: { ...view, lostCalls, budget: before.budget, budgetAt: before.budgetAt } };
}

/** What a person wants is their own and outlives the attempt that read it. */
function survives({ supersedesFrom }: EventOf<"NodeAttemptStarted">): (event: RunEvent) => boolean {
  const from = supersedesFrom === null ? Number.POSITIVE_INFINITY : Number(supersedesFrom);
  return (event) => Number(event.sequence) < from || isWish(event);
}

function isWish(event: RunEvent): boolean {
  return event.__typename === "CancelRequested" || event.__typename === "LoopOverridden";
}

function refold(log: readonly RunEvent[], attempts: FoldState["attempts"]): RunView {
  return log.reduce((view, event) => {
    const note = attempts.get(Number(event.sequence));
    const next = applyEvent(view, event);
    return note === undefined ? next : addItem(next, note);
  }, EMPTY_VIEW);
}

/** Counts the calls that were open, and those that an attempt, itself dropped by this one, had lost. */
function attemptItem(state: FoldState, log: readonly RunEvent[], event: EventOf<"NodeAttemptStarted">): AttemptItem {
  const models = Object.values(state.view.modelCalls).filter((call) => call.state === "STARTED");
  const tools = Object.values(state.view.toolCalls).filter((call) => call.state === "STARTED");
  const left = new Set(log.map((entry) => Number(entry.sequence)));
  const droppedNotes = [...state.attempts].filter(([sequence]) => !left.has(sequence)).map(([, note]) => note);
  const own = {
    lostModelCalls: models.length,
    lostToolCalls: tools.length,
    lostReservedCost: models.reduce((sum, call) => sum + call.reservedCost, 0),
  };
  return droppedNotes.reduce(
    (sum, note) => ({
      ...sum,
      lostModelCalls: sum.lostModelCalls + note.lostModelCalls,
      lostToolCalls: sum.lostToolCalls + note.lostToolCalls,
      lostReservedCost: sum.lostReservedCost + note.lostReservedCost,
    }),
    { type: "attempt", key: `attempt-${event.attempt}`, attempt: event.attempt, ...own } satisfies AttemptItem as AttemptItem,
  );
}
