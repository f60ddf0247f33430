import { describe, expect, it } from "vitest";
import { foldEvent, foldEvents, modelTexts, type LogEvent } from "./foldEvents";

function log(...events: [string, Partial<LogEvent>?][]): LogEvent[] {
  return events.map(([kind, members], index) => Object.assign({ sequence: index + 1, kind }, members));
}

const delta = (modelCallId: string, text: string): [string, Partial<LogEvent>] => ["ModelCallDelta", { modelCallId, text }];

const CRASHED = log(
  ["ExecutionQueued"],
  ["NodeAttemptStarted", { supersedesFrom: null }],
  ["ModelCallStarted", { modelCallId: "m1" }],
  delta("m1", "Half a sen"),
  ["NodeAttemptStarted", { supersedesFrom: 3 }],
  ["ModelCallFinished", { modelCallId: "m1" }],
  ["ModelCallStarted", { modelCallId: "m2" }],
  delta("m2", "A whole "),
  delta("m2", "sentence."),
);

describe("foldEvents", () => {
  it("shows the text of a superseded attempt not twice", () => {
    expect(modelTexts(CRASHED)).toEqual(["Half a sen", "A whole sentence."]);
    expect(modelTexts(foldEvents(CRASHED))).toEqual(["A whole sentence."]);
  });

  it("keeps what came before the superseded part and what comes behind it", () => {
    expect(foldEvents(CRASHED).map(({ sequence }) => sequence)).toEqual([1, 2, 5, 6, 7, 8, 9]);
  });

  it("takes the sequence as a text as well", () => {
    const events = CRASHED.map((event) => (event.sequence === 5 ? { ...event, supersedesFrom: "3" } : event));
    expect(modelTexts(foldEvents(events))).toEqual(["A whole sentence."]);
  });

  it("drops nothing for an attempt that supersedes nothing", () => {
    const events = log(["ExecutionQueued"], delta("m1", "a"), ["NodeAttemptStarted", { supersedesFrom: null }], delta("m2", "b"));
    expect(modelTexts(foldEvents(events))).toEqual(["a", "b"]);
  });

  it("drops the part of an attempt that superseded another", () => {
    const events = log(
      ["ExecutionQueued"],
      delta("m1", "a"),
      ["NodeAttemptStarted", { supersedesFrom: 2 }],
      delta("m2", "b"),
      ["NodeAttemptStarted", { supersedesFrom: 4 }],
      delta("m3", "c"),
    );
    expect(modelTexts(foldEvents(events))).toEqual(["c"]);
  });

  it("counts an event that comes again once", () => {
    const again = [...CRASHED.slice(0, 8), ...CRASHED.slice(6)];
    expect(foldEvents(again)).toEqual(foldEvents(CRASHED));
  });

  it("keeps the wish to cancel", () => {
    const events = log(["ExecutionQueued"], ["CancelRequested"], ["NodeAttemptStarted", { supersedesFrom: 2 }]);
    expect(foldEvents(events).map(({ kind }) => kind)).toEqual(["ExecutionQueued", "CancelRequested", "NodeAttemptStarted"]);
  });

  it("leaves the log that it was given as it is", () => {
    const before = CRASHED.slice(0, 4);
    foldEvent(before, CRASHED[4] as LogEvent);
    expect(before).toHaveLength(4);
  });
});
