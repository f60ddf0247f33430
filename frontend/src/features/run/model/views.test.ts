import { describe, expect, it } from "vitest";
import type { Budget, Meter } from "./budget";
import { EMPTY_FOLD, foldEvents } from "./fold";
import { meterViews, runningActiveTime } from "./meters";
import { currentStatus, phaseOf } from "./phase";
import { selectionOf } from "./selection";
import { firstSentence, stepsOf } from "./steps";
import { causeOf, limitOf, whereOf } from "./stopReason";
import { TestLog, wireBudget } from "./testLog";
import type { StopReasonView } from "./types";

const meter = (spent: number, limit: number | null, reserved = 0): Meter => ({ spent, reserved, limit });
const budget = (cost: Meter): Budget => ({
  cost,
  tokens: meter(8_214, 40_000),
  iterations: meter(3, 12),
  modelCalls: meter(3, null),
  toolCalls: meter(4, null),
  activeTimeMs: meter(41_000, 60_000),
});

describe("meters", () => {
  it("show spent, reserved and limit, and warn from 80 percent on", () => {
    const [cost, tokens, time, iterations] = meterViews(budget(meter(0.0142, 0.05, 0.004)), 48_000);
    expect([cost?.spent, cost?.rest, cost?.isWarning]).toEqual(["$0.0142", " + $0.0040 reserved · $0.05", false]);
    expect(cost?.reservedPart).toBeCloseTo(0.08);
    expect([tokens?.spent, tokens?.rest]).toEqual(["8.2k", " of 40k"]);
    expect([time?.spent, time?.isWarning]).toEqual(["00:48", true]);
    expect([iterations?.rest, iterations?.note]).toEqual([" of 12", " · 4 tool calls"]);
  });

  it("never show more than a full bar, and no bar without a limit", () => {
    const [over] = meterViews(budget(meter(0.06, 0.05, 0.01)), 0);
    expect([over?.spentPart, over?.reservedPart]).toEqual([1, 0]);
    const [open] = meterViews(budget(meter(0.06, null)), 0);
    expect([open?.spentPart, open?.rest]).toEqual([0, " · no limit"]);
  });

  it("let the clock run between readings, up to its limit, and only while the run works", () => {
    const at = 1_000_000;
    expect(runningActiveTime(budget(meter(0, null)), at, at + 5_000, true)).toBe(46_000);
    expect(runningActiveTime(budget(meter(0, null)), at, at + 90_000, true)).toBe(60_000);
    expect(runningActiveTime(budget(meter(0, null)), at, at - 5_000, true)).toBe(41_000);
    expect(runningActiveTime(budget(meter(0, null)), at, at + 5_000, false)).toBe(41_000);
  });
});

describe("steps", () => {
  it("are named by the first sentence, once it stands", () => {
    expect(firstSentence("Read the lock", false)).toBeNull();
    expect(firstSentence("Read `Cargo.lock` first. Then", false)).toBe("Read Cargo.lock first");
    expect(firstSentence("Done", true)).toBe("Done");
    expect(firstSentence("", true)).toBeNull();
    expect(firstSentence("a".repeat(80), true)).toHaveLength(64);
  });

  it("take the state of their calls", () => {
    const log = TestLog.begun()
      .add("ToolCallStarted", { iteration: 1, toolCallId: "a" })
      .add("ToolCallFinished", { iteration: 1, toolCallId: "a", toolCallState: "FAILED", exitCode: 1 })
      .add("IterationFinished", { iteration: 1 })
      .add("IterationStarted", { iteration: 2 });
    const steps = stepsOf(foldEvents(EMPTY_FOLD, log.events).view);
    expect(steps.map(({ title, state }) => [title, state])).toEqual([
      ["run_python", "bad"],
      ["Iteration 2", "running"],
    ]);
  });

  it("show an iteration that a limit ended before it did anything as stopped", () => {
    const log = TestLog.begun().add("ExecutionFinished", {
      status: "STOPPED",
      stopReason: { code: "COST_LIMIT", message: "", limit: "$0.05", iteration: 1 },
      answer: null,
      budget: wireBudget("0.05", "1000"),
    });
    expect(stepsOf(foldEvents(EMPTY_FOLD, log.events).view)[0]?.state).toBe("stopped");
  });
});

describe("what the page shows of a run", () => {
  it("never plays the log of an ended run as live", () => {
    expect([phaseOf("SUCCEEDED", "RUNNING"), currentStatus("SUCCEEDED", "RUNNING")]).toEqual(["over", "SUCCEEDED"]);
    expect([phaseOf(null, "RUNNING"), phaseOf("QUEUED", "RUNNING"), phaseOf("RUNNING", "FAILED")]).toEqual(["unknown", "live", "over"]);
    expect(currentStatus("QUEUED", "RUNNING")).toBe("RUNNING");
  });

  it("selects the latest call of a live run until a person chooses", () => {
    const log = TestLog.begun()
      .add("ModelCallStarted", { iteration: 1, modelCallId: "m1" })
      .add("ToolCallStarted", { iteration: 1, toolCallId: "a" })
      .add("WarningRaised", { code: "SLOW", message: "Slow." });
    const { view } = foldEvents(EMPTY_FOLD, log.events);
    expect(selectionOf(view, null, "live")).toEqual({ type: "tool", id: "a" });
    expect(selectionOf(view, "m1", "live")).toEqual({ type: "model", id: "m1" });
    expect(selectionOf(view, "gone", "over")).toBeNull();
  });

  it("says why it ended, also for a cause that it does not know", () => {
    const reason = { code: "COST_LIMIT" as const, message: "", limit: "$0.05", iteration: 3, step: "MODEL_CALL" as const };
    expect([causeOf(reason), whereOf(reason)]).toEqual(["The cost limit was reached", "limit $0.05 · at the model call of iteration 3"]);
    expect(causeOf({ ...reason, code: "POWER_CUT" as "INTERNAL" })).toBe("power cut");
  });
});

describe("what a run tells in words", () => {
  const reason = (limit: string | null): StopReasonView => ({ code: "ITERATION_LIMIT", message: "", limit, iteration: 3, step: null });

  it("says limits as people do, and leaves unknown ones as they are", () => {
    expect(limitOf(reason("maxIterations 3"))).toBe("3 iterations");
    expect(limitOf(reason("maxTokens 40000"))).toBe("40,000 tokens");
    expect(limitOf(reason("maxActiveTimeMs 1500"))).toBe("1.5 s");
    expect(limitOf(reason("maxDreams 2"))).toBe("maxDreams 2");
    expect(limitOf(reason(null))).toBeNull();
    expect(whereOf(reason("maxIterations 3"))).toBe("limit 3 iterations · at iteration 3");
  });

  it("names a step by the deed, not by its announcement", () => {
    expect(firstSentence("I will read the file. Then more.", false)).toBe("Read the file");
    expect(firstSentence("The program stopped.", true)).toBe("The program stopped");
  });
});
