/** Writes logs by hand for tests: fills in what every event has and keeps the sequence. */
import type { EventOf, RunEvent } from "./types";

type Name = RunEvent["__typename"];
/** Nested fragments are masked in the types; a test gives them as they are on the wire. */
type Fields<N extends Name> = Partial<Omit<EventOf<N>, "__typename" | "budget" | "stopReason">> & Record<string, unknown>;

const DEFAULTS: { [N in Name]?: Record<string, unknown> } = {
  ModelCallStarted: { alias: "auditor", deployment: "demo", reservedCost: { amount: "0.004" }, reservedTokens: "2400", fallbackIndex: 0, fallbackBecause: null },
  ModelCallFinished: {
    modelCallState: "SETTLED",
    finishReason: "TOOL_CALLS",
    usage: { input: "900", cachedInput: "300", output: "100", reasoning: "0", total: "1000" },
    cost: { amount: "0.003" },
    estimated: false,
    durationMs: 1200,
    error: null,
  },
  ToolCallStarted: {
    ordinal: 0,
    tool: "run_python",
    arguments: { code: "print(1)" },
    rawArguments: '{"code":"print(1)"}',
    sideEffect: "SANDBOX_ONLY",
    fingerprint: "3f9a",
    timeoutMs: 60_000,
  },
  SandboxOutput: { stream: "STDOUT" },
  ToolCallFinished: {
    ordinal: 0,
    tool: "run_python",
    toolCallState: "SUCCEEDED",
    result: "",
    exitCode: 0,
    error: null,
    durationMs: 900,
    truncated: false,
    lossy: false,
  },
};

const FIRST_AT = Date.parse("2026-11-29T10:00:00Z");

export class TestLog {
  readonly events: RunEvent[] = [];

  add<N extends Name>(name: N, fields: Fields<N> = {}): this {
    const sequence = this.events.length + 1;
    const event = {
      __typename: name,
      sequence: String(sequence),
      cursor: `cursor-${sequence}`,
      at: new Date(FIRST_AT + sequence * 1_000).toISOString(),
      ...DEFAULTS[name],
      ...fields,
    };
    this.events.push(event as unknown as RunEvent);
    return this;
  }

  /** A run that has begun and is in its first iteration. */
  static begun(): TestLog {
    return new TestLog()
      .add("ExecutionQueued", { task: "Audit" })
      .add("NodeAttemptStarted", { attempt: 1, supersedesFrom: null })
      .add("IterationStarted", { iteration: 1 });
  }

  get next(): string {
    return String(this.events.length + 1);
  }
}

export function wireBudget(spent: string, used: string, reserved = "0"): object {
  const count = { used, reserved: "0", limit: "10" };
  return {
    cost: { spent: { amount: spent }, reserved: { amount: reserved }, limit: { amount: "0.05" } },
    tokens: { used, reserved: "0", limit: "40000" },
    iterations: count,
    modelCalls: count,
    toolCalls: count,
    activeTime: { used: "1000", reserved: "0", limit: "60000" },
  };
}
