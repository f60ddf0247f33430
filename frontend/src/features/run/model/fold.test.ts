import { describe, expect, it } from "vitest";
import { EMPTY_FOLD, foldEvent, foldEvents } from "./fold";
import { consequenceOf, iterationsOf, kindOf } from "./loops";
import { OUTPUT_CAP } from "./output";
import { stepsOf } from "./steps";
import { TestLog, wireBudget } from "./testLog";
import type { LoopView, RunEvent, RunView } from "./types";

const viewOf = (log: TestLog): RunView => foldEvents(EMPTY_FOLD, log.events).view;
const items = (view: RunView, number: number) =>
  view.iterations.find((iteration) => iteration.number === number)?.items.map(({ type, key }) => `${type} ${key}`);

/** A small pseudo-random order that is the same on every run. */
function shuffled(events: readonly RunEvent[], seed: number): RunEvent[] {
  const rest = [...events];
  const out: RunEvent[] = [];
  for (let state = seed; rest.length > 0; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    out.push(...rest.splice(state % rest.length, 1));
  }
  return out;
}

function parallelTools(): TestLog {
  return TestLog.begun()
    .add("ModelCallStarted", { iteration: 1, modelCallId: "m1" })
    .add("ModelCallDelta", { modelCallId: "m1", text: "Two looks " })
    .add("ModelCallDelta", { modelCallId: "m1", text: "at once." })
    .add("ModelCallFinished", { iteration: 1, modelCallId: "m1" })
    .add("ToolCallStarted", { iteration: 1, toolCallId: "a", ordinal: 0 })
    .add("ToolCallStarted", { iteration: 1, toolCallId: "b", ordinal: 1, tool: "run_shell" })
    .add("SandboxOutput", { toolCallId: "a", text: "a1\n" })
    .add("SandboxOutput", { toolCallId: "b", text: "b1\n" })
    .add("SandboxOutput", { toolCallId: "a", text: "a2\n", stream: "STDERR" })
    .add("ToolCallFinished", { iteration: 1, toolCallId: "b", ordinal: 1, tool: "run_shell" })
    .add("SandboxOutput", { toolCallId: "a", text: "a3\n" })
    .add("ToolCallFinished", { iteration: 1, toolCallId: "a", toolCallState: "FAILED", exitCode: 1 })
    .add("IterationFinished", { iteration: 1 });
}

describe("what a call reached and was lent", () => {
  it("tells attempts and credentials with the call they belong to", () => {
    const view = viewOf(
      TestLog.begun()
        .add("ToolCallStarted", { iteration: 1, toolCallId: "a" })
        .add("CredentialIssued", { toolCallId: "a", name: "TOKEN" })
        .add("SandboxEgress", { toolCallId: "a", host: "api.example.com", port: 443, verdict: "ALLOWED", egressReason: null })
        .add("SandboxEgress", { toolCallId: "a", host: "evil.example", port: 80, verdict: "DENIED", egressReason: "not_listed" })
        .add("SandboxEgress", { toolCallId: "a", host: "no.example", port: 443, verdict: "DENIED", egressReason: "not_resolved" })
        .add("SandboxEgress", { toolCallId: "gone", host: "x.example", port: 80, verdict: "DENIED", egressReason: null })
        .add("CredentialRevoked", { toolCallId: "a", name: "TOKEN", because: "CALL_ENDED" }),
    );
    expect(view.toolCalls["a"]?.egress).toEqual([
      { host: "api.example.com", port: 443, outcome: "allowed", reason: null },
      { host: "evil.example", port: 80, outcome: "denied", reason: "not_listed" },
      { host: "no.example", port: 443, outcome: "failed", reason: "not_resolved" },
    ]);
    expect(view.toolCalls["a"]?.credentials).toEqual([{ name: "TOKEN", revokedBecause: "CALL_ENDED" }]);
  });
});

describe("the order of the log", () => {
  it("keeps the output of tools that run side by side apart", () => {
    const view = viewOf(parallelTools());
    expect(items(view, 1)).toEqual(["model m1", "tool a", "tool b"]);
    expect(view.modelCalls["m1"]?.text).toBe("Two looks at once.");
    expect(view.toolCalls["a"]).toMatchObject({ state: "FAILED", exitCode: 1, output: { text: "a1\na2\na3\n", stderrTail: "a2\n" } });
    expect(view.toolCalls["b"]).toMatchObject({ state: "SUCCEEDED", output: { text: "b1\n" } });
  });

  it("gives the same view however the events are grouped, repeated or mixed up", () => {
    const { events } = parallelTools();
    const expected = foldEvents(EMPTY_FOLD, events);
    expect(events.reduce(foldEvent, EMPTY_FOLD)).toEqual(expected);
    for (let seed = 1; seed <= 25; seed += 1) {
      const mixed = shuffled([...events, ...events.slice(3, 9)], seed);
      expect(mixed.reduce(foldEvent, EMPTY_FOLD)).toEqual(expected);
    }
  });

  it("waits at a gap and goes on when it is filled", () => {
    const { events } = parallelTools();
    const gap = foldEvents(EMPTY_FOLD, events.toSpliced(4, 1));
    expect([gap.sequence, gap.cursor, gap.view.modelCalls["m1"]?.text]).toEqual([4, "cursor-4", ""]);
    expect(foldEvents(gap, events.slice(4, 5)).sequence).toBe(events.length);
  });

  it("resumes from its cursor after an overlap without counting a delta twice", () => {
    const { events } = parallelTools();
    const first = foldEvents(EMPTY_FOLD, events.slice(0, 9));
    const again = foldEvents(first, events.slice(5));
    expect(again).toEqual(foldEvents(EMPTY_FOLD, events));
  });

  it("does not change the state that it was given", () => {
    const { events } = parallelTools();
    const before = foldEvents(EMPTY_FOLD, events.slice(0, 5));
    const copy = structuredClone(before);
    foldEvents(before, events.slice(5));
    expect(before).toEqual(copy);
    expect(EMPTY_FOLD.log).toEqual([]);
  });

  it("passes over a kind of event that it does not know", () => {
    const log = TestLog.begun();
    log.add("SomethingNewer" as "CancelRequested").add("WarningRaised", { code: "SLOW", message: "Slow." });
    expect(items(viewOf(log), 1)).toEqual(["warning warning-5"]);
  });
});

describe("the loop guard", () => {
  const cycle: LoopView = {
    kind: "CYCLE",
    period: 2,
    count: 3,
    iterations: [1, 2, 3, 4, 5, 6],
    action: "STOP",
    pardoned: false,
    message: "the same 2 calls came 3 times",
  };

  it("shows each loop where it was found, and keeps the last that was not let pass", () => {
    const log = TestLog.begun();
    for (const pardoned of [false, true]) log.add("LoopDetected", { ...cycle, loopKind: cycle.kind, pardoned });
    const view = viewOf(log);
    expect(items(view, 1)).toEqual(["loop loop-4", "loop loop-5"]);
    expect(view.loop).toEqual(cycle);
  });

  it("says a loop in words", () => {
    expect([kindOf(cycle), iterationsOf({ ...cycle, iterations: [1, 1, 2] })]).toEqual(["A cycle of 2 calls, 3 times", "1, 2"]);
    expect(consequenceOf(cycle)).toBe("The run stops here.");
    expect(consequenceOf({ ...cycle, pardoned: true })).toContain("overridden");
  });

  it("keeps a person's override over a new attempt", () => {
    const log = TestLog.begun();
    const from = log.next;
    log.add("LoopOverridden", { by: "pri_1", reason: "It is slow today.", pardons: 2 });
    log.add("NodeAttemptStarted", { attempt: 2, supersedesFrom: from });
    expect(items(viewOf(log), 1)?.[0]).toBe("override override-4");
  });
});

describe("a new attempt", () => {
  function crashed(): TestLog {
    const log = TestLog.begun().add("BudgetUpdated", { budget: wireBudget("0.003", "1000", "0.004") });
    const from = log.next;
    return log
      .add("ModelCallStarted", { iteration: 1, modelCallId: "m1" })
      .add("ModelCallDelta", { modelCallId: "m1", text: "Half a sen" })
      .add("NodeAttemptStarted", { attempt: 2, supersedesFrom: from });
  }

  it("drops the superseded part and says what was lost", () => {
    const log = crashed()
      .add("ModelCallStarted", { iteration: 1, modelCallId: "m2" })
      .add("ModelCallDelta", { modelCallId: "m2", text: "A whole sentence." });
    const view = viewOf(log);
    expect(items(view, 1)).toEqual(["attempt attempt-2", "model m2"]);
    expect(view.iterations[0]?.items[0]).toMatchObject({ lostModelCalls: 1, lostToolCalls: 0, lostReservedCost: 0.004 });
    expect(Object.keys(view.modelCalls)).toEqual(["m2"]);
    expect(view.attempt).toBe(2);
  });

  it("shows a lost call with its name when it is settled afterwards", () => {
    const log = crashed().add("ModelCallFinished", {
      iteration: 1,
      modelCallId: "m1",
      modelCallState: "LOST",
      finishReason: null,
      cost: { amount: "0.004" },
      estimated: true,
    });
    expect(viewOf(log).modelCalls["m1"]).toMatchObject({
      state: "LOST",
      alias: "auditor",
      text: "",
      cost: 0.004,
      estimated: true,
    });
  });

  it("marks as lost what was open before the superseded part", () => {
    const log = TestLog.begun().add("ToolCallStarted", { iteration: 1, toolCallId: "a" });
    log.add("NodeAttemptStarted", { attempt: 2, supersedesFrom: log.next });
    const view = viewOf(log);
    expect(view.toolCalls["a"]?.state).toBe("LOST");
    expect(view.iterations[0]?.items.at(-1)).toMatchObject({ type: "attempt", lostToolCalls: 1 });
  });

  it("lets the outcome of an interrupted tool call override that it was lost", () => {
    const log = TestLog.begun()
      .add("ToolCallStarted", { iteration: 1, toolCallId: "a" })
      .add("SandboxOutput", { toolCallId: "a", text: "half\n" })
      .add("NodeAttemptStarted", { attempt: 2, supersedesFrom: null })
      .add("ToolCallFinished", { iteration: 1, toolCallId: "a", toolCallState: "INTERRUPTED", exitCode: null });
    expect(viewOf(log).toolCalls["a"]).toMatchObject({ state: "INTERRUPTED", output: { text: "half\n" } });
  });

  it("shows a program that is followed by the next attempt as running", () => {
    const log = TestLog.begun()
      .add("ToolCallStarted", { iteration: 1, toolCallId: "a" })
      .add("SandboxOutput", { toolCallId: "a", text: "one\n" })
      .add("NodeAttemptStarted", { attempt: 2, supersedesFrom: null })
      .add("SandboxOutput", { toolCallId: "a", text: "two\n" });
    expect(viewOf(log).toolCalls["a"]).toMatchObject({ state: "STARTED", output: { text: "one\ntwo\n" } });
  });

  it("adds up what attempts lost that are superseded themselves", () => {
    const log = crashed()
      .add("ModelCallStarted", { iteration: 1, modelCallId: "m2" })
      .add("NodeAttemptStarted", { attempt: 3, supersedesFrom: "5" })
      .add("ModelCallStarted", { iteration: 1, modelCallId: "m3" });
    const view = viewOf(log);
    expect(items(view, 1)).toEqual(["attempt attempt-3", "model m3"]);
    expect(view.iterations[0]?.items[0]).toMatchObject({ lostModelCalls: 2, lostReservedCost: 0.008 });
  });

  it("drops an iteration that was begun in the superseded part", () => {
    const log = parallelTools();
    const from = log.next;
    log.add("IterationStarted", { iteration: 2 }).add("NodeAttemptStarted", { attempt: 2, supersedesFrom: from });
    expect(viewOf(log).iterations.map(({ number }) => number)).toEqual([1]);
    log.add("IterationStarted", { iteration: 2 });
    expect(items(viewOf(log), 2)).toEqual(["attempt attempt-2"]);
  });

  it("keeps the wish to cancel and never moves a meter backwards", () => {
    const log = TestLog.begun();
    const from = log.next;
    log
      .add("BudgetUpdated", { budget: wireBudget("0.02", "8000", "0.004") })
      .add("CancelRequested", { by: "usr_1" })
      .add("NodeAttemptStarted", { attempt: 2, supersedesFrom: from })
      .add("BudgetUpdated", { budget: wireBudget("0.01", "4000") });
    const view = viewOf(log);
    expect([view.cancelRequested, view.status]).toEqual([true, "CANCELLING"]);
    expect(view.budget?.cost).toEqual({ spent: 0.02, reserved: 0, limit: 0.05 });
    expect(view.budget?.tokens.spent).toBe(8000);
  });
});

describe("output", () => {
  it("is capped for display, keeps its end, and remembers what was cut", () => {
    const log = TestLog.begun().add("ToolCallStarted", { iteration: 1, toolCallId: "a" });
    const line = `${"x".repeat(1_023)}\n`;
    for (let i = 0; i < 400; i += 1) log.add("SandboxOutput", { toolCallId: "a", text: line });
    log.add("SandboxOutput", { toolCallId: "a", text: "the end\n" });
    const output = viewOf(log).toolCalls["a"]?.output;
    expect(output?.text.endsWith("the end\n")).toBe(true);
    expect(output?.text.length).toBeLessThan(OUTPUT_CAP * 1.2);
    expect((output?.droppedChars ?? 0) + (output?.text.length ?? 0)).toBe(400 * 1_024 + 8);
    expect(output?.text.startsWith("x".repeat(1_023))).toBe(true);
  });

  it("says how much the log left out, and where the whole is", () => {
    const log = TestLog.begun()
      .add("ToolCallStarted", { iteration: 1, toolCallId: "a" })
      .add("OutputTruncated", { toolCallId: "a", omittedBytes: "1073741824", fullOutputId: "art_1" })
      .add("ToolCallFinished", { iteration: 1, toolCallId: "a", truncated: true });
    expect(viewOf(log).toolCalls["a"]).toMatchObject({ truncated: true, omittedBytes: 1_073_741_824, fullOutputId: "art_1" });
    log.add("RawOutputKept", { toolCallId: "a", stream: "STDERR", rawOutputId: "art_2", byteSize: "7" });
    expect(viewOf(log).toolCalls["a"]?.rawOutputs).toEqual([{ id: "art_2", stream: "stderr", byteSize: 7 }]);
  });

  it("ignores output of a tool call that it never saw", () => {
    expect(viewOf(TestLog.begun().add("SandboxOutput", { toolCallId: "ghost", text: "boo" })).toolCalls).toEqual({});
  });
});

describe("the end", () => {
  it("of a cancelled run closes what was open", () => {
    const log = TestLog.begun()
      .add("ToolCallStarted", { iteration: 1, toolCallId: "a" })
      .add("ModelCallStarted", { iteration: 1, modelCallId: "open" })
      .add("CancelRequested", { by: "usr_1" })
      .add("ToolCallFinished", { iteration: 1, toolCallId: "a", toolCallState: "CANCELLED", exitCode: null })
      .add("ExecutionFinished", {
        status: "CANCELLED",
        stopReason: { code: "CANCELLED", message: "Stopped.", limit: null, iteration: 1 },
        answer: null,
        budget: wireBudget("0.003", "1000"),
      });
    const view = viewOf(log);
    expect([view.status, view.stopReason?.code, view.toolCalls["a"]?.state]).toEqual(["CANCELLED", "CANCELLED", "CANCELLED"]);
    expect(view.modelCalls["open"]?.state).toBe("CANCELLED");
    expect(view.iterations[0]?.endedAt).toBe(view.endedAt);
  });

  it("of a failed run keeps the provider's error with its call", () => {
    const log = TestLog.begun()
      .add("ModelCallStarted", { iteration: 1, modelCallId: "m1" })
      .add("ModelCallFinished", {
        iteration: 1,
        modelCallId: "m1",
        modelCallState: "FAILED",
        error: { code: "PROVIDER_UNAVAILABLE", message: "Connection refused." },
      })
      .add("ExecutionFinished", {
        status: "FAILED",
        stopReason: { code: "MODEL_FAILED", message: "No answer.", limit: null, iteration: 1 },
        answer: null,
        budget: wireBudget("0", "0"),
      });
    const view = viewOf(log);
    expect(view.modelCalls["m1"]).toMatchObject({ state: "FAILED", error: { code: "PROVIDER_UNAVAILABLE" } });
    expect([view.status, view.answer]).toEqual(["FAILED", null]);
  });

  it("shows each try of a call, and which model of the list answered", () => {
    const error = { code: "MODEL_PROVIDER_ERROR", message: "Overloaded." };
    const log = TestLog.begun()
      .add("ModelCallStarted", { iteration: 1, modelCallId: "own" })
      .add("ModelCallRetried", { modelCallId: "own", tryNumber: 1, error, waitMs: 400 })
      .add("ModelCallRetried", { modelCallId: "own", tryNumber: 2, error, waitMs: 900 })
      .add("ModelCallFinished", { iteration: 1, modelCallId: "own", modelCallState: "FAILED", finishReason: null, error })
      .add("ModelCallStarted", { iteration: 1, modelCallId: "next", alias: "second", fallbackIndex: 1, fallbackBecause: error })
      .add("ModelCallFinished", { iteration: 1, modelCallId: "next" })
      .add("IterationFinished", { iteration: 1 })
      .add("IterationStarted", { iteration: 2 });
    const view = viewOf(log);
    expect(view.modelCalls["own"]).toMatchObject({
      fallbackIndex: 0,
      fallbackBecause: null,
      failedTries: [
        { error, waitMs: 400 },
        { error, waitMs: 900 },
      ],
    });
    expect(view.modelCalls["next"]).toMatchObject({ alias: "second", fallbackIndex: 1, fallbackBecause: error, failedTries: [] });
    expect(stepsOf(view)[0]?.state).toBe("ok");
  });

  it("shows a refused tool call that never started, and replaces an artifact of the same name", () => {
    const log = TestLog.begun()
      .add("ToolCallFinished", { iteration: 1, toolCallId: "r", toolCallState: "REFUSED", exitCode: null })
      .add("ArtifactCreated", { artifactId: "x1", name: "chart.svg", mediaType: "image/svg+xml", byteSize: "10" })
      .add("ArtifactCreated", { artifactId: "x2", name: "chart.svg", mediaType: "image/svg+xml", byteSize: "20" });
    const view = viewOf(log);
    expect(items(view, 1)).toEqual(["tool r"]);
    expect(view.artifacts).toEqual([{ id: "x2", name: "chart.svg", mediaType: "image/svg+xml", byteSize: 20 }]);
  });
});
