/**
 * Reads an execution's log so that nothing is shown twice. It imports nothing: copy it into your own program.
 *
 * Feed it the `payload` of each event of `executionEvents`, in the order in which they come. An event that comes again,
 * after a reconnect, counts once. When a worker was lost, the next attempt does a part again: what the log holds of the
 * lost part is dropped, but for a person's wish to cancel.
 */
export interface LogEvent {
  sequence: number;
  kind: string;
  /** Of a `NodeAttemptStarted`: the first event of the part that is done again. */
  supersedesFrom?: number | string | null;
  /** Of a `ModelCallDelta`: whose text it is, and the text. */
  modelCallId?: string;
  text?: string;
}

/** The log as it counts, after one more event. */
export function foldEvent<E extends LogEvent>(log: readonly E[], event: E): readonly E[] {
  if (event.sequence <= (log.at(-1)?.sequence ?? 0)) return log;
  if (event.kind !== "NodeAttemptStarted" || event.supersedesFrom == null) return [...log, event];
  const from = Number(event.supersedesFrom);
  return [...log.filter((earlier) => earlier.sequence < from || earlier.kind === "CancelRequested"), event];
}

/** The log as it counts. */
export function foldEvents<E extends LogEvent>(events: readonly E[]): readonly E[] {
  return events.reduce<readonly E[]>(foldEvent, []);
}

/** What the model wrote, a text for each of its calls, oldest first. */
export function modelTexts(log: readonly LogEvent[]): string[] {
  const texts = new Map<string, string>();
  for (const event of log) {
    if (event.kind !== "ModelCallDelta" || event.modelCallId === undefined) continue;
    texts.set(event.modelCallId, (texts.get(event.modelCallId) ?? "") + (event.text ?? ""));
  }
  return [...texts.values()];
}
