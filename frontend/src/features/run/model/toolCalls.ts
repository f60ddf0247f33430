import { pushItem } from "./iterations";
import { NO_OUTPUT } from "./output";
import type { EventOf, RunView, ToolCallView } from "./types";

export function startToolCall(view: RunView, event: EventOf<"ToolCallStarted">, at: number): RunView {
  return addToolCall(view, {
    ...blankToolCall(event, at),
    arguments: event.arguments,
    rawArguments: event.rawArguments,
    sideEffect: event.sideEffect,
    fingerprint: event.fingerprint,
    timeoutMs: event.timeoutMs,
  });
}

function addToolCall(view: RunView, call: ToolCallView): RunView {
  const placed = pushItem(view, call.iteration, call.startedAt, { type: "tool", key: call.id });
  return { ...placed, toolCalls: { ...placed.toolCalls, [call.id]: call } };
}

export function editToolCall(view: RunView, id: string, edit: (call: ToolCallView) => ToolCallView): RunView {
  const call = view.toolCalls[id];
  return call === undefined ? view : { ...view, toolCalls: { ...view.toolCalls, [id]: edit(call) } };
}

/** A refused call never starts: it appears with its outcome. */
export function finishToolCall(view: RunView, event: EventOf<"ToolCallFinished">, at: number): RunView {
  const known = view.toolCalls[event.toolCallId] === undefined ? addToolCall(view, blankToolCall(event, at)) : view;
  return editToolCall(known, event.toolCallId, (call) => ({
    ...call,
    state: event.toolCallState,
    result: event.result,
    exitCode: event.exitCode,
    error: event.error,
    durationMs: event.durationMs,
    truncated: call.truncated || event.truncated,
    lossy: event.lossy,
  }));
}

function blankToolCall(event: EventOf<"ToolCallStarted"> | EventOf<"ToolCallFinished">, at: number): ToolCallView {
  return {
    id: event.toolCallId,
    iteration: event.iteration,
    ordinal: event.ordinal,
    sequence: Number(event.sequence),
    tool: event.tool,
    state: "STARTED",
    arguments: null,
    rawArguments: "",
    sideEffect: null,
    fingerprint: "",
    timeoutMs: null,
    startedAt: at,
    durationMs: null,
    output: NO_OUTPUT,
    result: null,
    exitCode: null,
    error: null,
    truncated: false,
    lossy: false,
    omittedBytes: 0,
    fullOutputId: null,
    rawOutputs: [],
    egress: [],
    credentials: [],
  };
}
