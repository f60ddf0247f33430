import { readFragment } from "@/graphql/generated";
import { advanceBudget, readBudget } from "./budget";
import { StopReasonFields } from "./events.graphql";
import { addItem, editIteration, startIteration } from "./iterations";
import { editModelCall, finishModelCall, retryModelCall, startModelCall } from "./modelCalls";
import { appendOutput } from "./output";
import { editToolCall, finishToolCall, startToolCall } from "./toolCalls";
import type { EgressView, EventOf, RunEvent, RunView } from "./types";

/** Applies one event that is next in sequence; superseding is the caller's part. */
export function applyEvent(view: RunView, event: RunEvent): RunView {
  const at = Date.parse(event.at);
  switch (event.__typename) {
    case "ExecutionQueued":
      return { ...view, task: event.task, status: "QUEUED", queuedAt: at };
    case "NodeAttemptStarted":
      return startAttempt(view, event.attempt, at);
    case "IterationStarted":
      return startIteration(view, event.iteration, at);
    case "IterationFinished":
      return editIteration(view, event.iteration, (iteration) => ({ ...iteration, endedAt: at }));
    case "ModelCallStarted":
      return startModelCall(view, event, at);
    case "ModelCallRetried":
      return retryModelCall(view, event);
    case "ModelCallDelta":
      return editModelCall(view, event.modelCallId, (call) => ({ ...call, text: call.text + event.text }));
    case "ModelCallFinished":
      return finishModelCall(view, event, at);
    case "ToolCallStarted":
      return startToolCall(view, event, at);
    case "SandboxStarted":
      return { ...view, sandboxes: [...view.sandboxes, { ...event, id: event.sandboxId }] };
    case "SandboxOutput":
      return editToolCall(view, event.toolCallId, (call) => ({
        ...call,
        // A program that prints was not lost with its worker: the next attempt follows it.
        state: call.state === "LOST" ? "STARTED" : call.state,
        output: appendOutput(call.output, event.text, event.stream),
      }));
    case "SandboxEgress":
      return editToolCall(view, event.toolCallId, (call) => ({
        ...call,
        egress: [...call.egress, { host: event.host, port: event.port, outcome: egressOutcome(event.verdict, event.egressReason), reason: event.egressReason }],
      }));
    case "CredentialIssued":
      return editToolCall(view, event.toolCallId, (call) => ({
        ...call,
        credentials: [...call.credentials, { name: event.name, revokedBecause: null }],
      }));
    case "CredentialRevoked":
      return editToolCall(view, event.toolCallId, (call) => ({
        ...call,
        credentials: call.credentials.map((lent) => (lent.name === event.name ? { ...lent, revokedBecause: event.because } : lent)),
      }));
    case "OutputTruncated":
      return editToolCall(view, event.toolCallId, (call) => ({
        ...call,
        truncated: true,
        omittedBytes: call.omittedBytes + Number(event.omittedBytes),
        fullOutputId: event.fullOutputId,
      }));
    case "RawOutputKept": {
      const raw = { id: event.rawOutputId, stream: event.stream === "STDERR" ? "stderr" : "stdout", byteSize: Number(event.byteSize) } as const;
      return editToolCall(view, event.toolCallId, (call) => ({ ...call, rawOutputs: [...call.rawOutputs, raw] }));
    }
    case "ToolCallFinished":
      return finishToolCall(view, event, at);
    case "ArtifactCreated":
      return addArtifact(view, event);
    case "BudgetUpdated":
      return { ...view, budget: advanceBudget(view.budget, readBudget(event.budget)), budgetAt: at };
    case "BudgetWarning": {
      const message = `${event.level} % of ${limitOwner(event.source)} ${event.limit === "TOKENS" ? "token" : "cost"} limit is used.`;
      return addItem(view, { type: "warning", key: `warning-${event.sequence}`, code: "BUDGET_WARNING", message });
    }
    case "WarningRaised":
      return addItem(view, { type: "warning", key: `warning-${event.sequence}`, code: event.code, message: event.message });
    case "LoopDetected":
      return addLoop(view, event);
    case "LoopOverridden":
      return addItem(view, { type: "override", key: `override-${event.sequence}`, reason: event.reason, pardons: event.pardons });
    case "CancelRequested":
      return { ...view, cancelRequested: true, status: "CANCELLING" };
    case "ExecutionFinished":
      return finishExecution(view, event, at);
    default:
      // A kind that a newer server knows: it takes its place in the sequence and shows nothing.
      return view;
  }
}

/** Whose limit it is, in the middle of a sentence. */
function limitOwner(source: string): string {
  return source === "EXECUTION" ? "the run's own" : `the ${source.toLowerCase()} account's`;
}

/** A claim closes every call that an older attempt left open. */
function startAttempt(view: RunView, attempt: number, at: number): RunView {
  return {
    ...view,
    attempt,
    status: view.cancelRequested ? "CANCELLING" : "RUNNING",
    startedAt: view.startedAt ?? at,
    ...closeOpenCalls(view, "LOST"),
  };
}

function closeOpenCalls({ modelCalls, toolCalls }: RunView, state: "LOST" | "CANCELLED") {
  return {
    modelCalls: mapValues(modelCalls, (call) => (call.state === "STARTED" ? { ...call, state } : call)),
    toolCalls: mapValues(toolCalls, (call) => (call.state === "STARTED" ? { ...call, state } : call)),
  };
}

function mapValues<T>(record: Record<string, T>, edit: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, edit(value)]));
}

/** A file that is written again replaces its earlier version under the same name. */
function addArtifact(view: RunView, event: EventOf<"ArtifactCreated">): RunView {
  const { artifactId: id, name, mediaType, byteSize } = event;
  const others = view.artifacts.filter((artifact) => artifact.name !== name);
  return { ...view, artifacts: [...others, { id, name, mediaType, byteSize: Number(byteSize) }] };
}

function addLoop(view: RunView, event: EventOf<"LoopDetected">): RunView {
  const { loopKind: kind, period, count, iterations, action, pardoned, message } = event;
  const loop = { kind, period, count, iterations, action, pardoned, message };
  const next = addItem(view, { type: "loop", key: `loop-${event.sequence}`, loop });
  return pardoned ? next : { ...next, loop };
}

/** Nothing runs after the end, whatever the log left unsaid. */
function finishExecution(view: RunView, event: EventOf<"ExecutionFinished">, at: number): RunView {
  return {
    ...view,
    ...closeOpenCalls(view, event.status === "CANCELLED" ? "CANCELLED" : "LOST"),
    status: event.status,
    endedAt: at,
    stopReason: readFragment(StopReasonFields, event.stopReason),
    answer: event.answer,
    errorItem: event.errorItem ? errorItemOf(event.errorItem) : null,
    budget: advanceBudget(view.budget, readBudget(event.budget)),
    budgetAt: at,
    iterations: view.iterations.map((it) => (it.endedAt === null ? { ...it, endedAt: at } : it)),
  };
}

function errorItemOf({ code, limit, step, iteration, message }: NonNullable<RunView["errorItem"]>): RunView["errorItem"] {
  return { code, limit, step, iteration, message };
}

/** Reasons that are none of the rules: the host could not be reached. */
const UNREACHED = new Set<string | null>(["not_resolved", "unreachable"]);

function egressOutcome(verdict: string, reason: string | null): EgressView["outcome"] {
  if (verdict === "ALLOWED") return "allowed";
  return UNREACHED.has(reason) ? "failed" : "denied";
}
