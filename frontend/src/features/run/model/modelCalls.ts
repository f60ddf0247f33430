import { pushItem } from "./iterations";
import type { EventOf, ModelCallView, RunView } from "./types";

export function startModelCall(view: RunView, event: EventOf<"ModelCallStarted">, at: number): RunView {
  const call: ModelCallView = {
    ...blankModelCall(event.modelCallId, event.iteration, Number(event.sequence), at),
    alias: event.alias,
    deployment: event.deployment,
    reservedCost: Number(event.reservedCost.amount),
    reservedTokens: Number(event.reservedTokens),
    fallbackIndex: event.fallbackIndex,
    fallbackBecause: event.fallbackBecause,
  };
  return addModelCall(view, call);
}

function addModelCall(view: RunView, call: ModelCallView): RunView {
  const placed = pushItem(view, call.iteration, call.startedAt, { type: "model", key: call.id });
  return { ...placed, modelCalls: { ...placed.modelCalls, [call.id]: call } };
}

export function editModelCall(view: RunView, id: string, edit: (call: ModelCallView) => ModelCallView): RunView {
  const call = view.modelCalls[id];
  return call === undefined ? view : { ...view, modelCalls: { ...view.modelCalls, [id]: edit(call) } };
}

export function retryModelCall(view: RunView, event: EventOf<"ModelCallRetried">): RunView {
  const { error, waitMs } = event;
  return editModelCall(view, event.modelCallId, (call) => ({ ...call, failedTries: [...call.failedTries, { error, waitMs }] }));
}

/** A call that a superseded part began may be settled afterwards: it is put back, so that its cost is seen. */
export function finishModelCall(view: RunView, event: EventOf<"ModelCallFinished">, at: number): RunView {
  const { modelCallId: id, usage } = event;
  const known =
    view.modelCalls[id] === undefined
      ? addModelCall(view, view.lostCalls[id] ?? blankModelCall(id, event.iteration, Number(event.sequence), at))
      : view;
  return editModelCall(known, id, (call) => ({
    ...call,
    state: event.modelCallState,
    finishReason: event.finishReason,
    tokens: {
      input: Number(usage.input),
      cachedInput: Number(usage.cachedInput),
      output: Number(usage.output),
      reasoning: Number(usage.reasoning),
      total: Number(usage.total),
    },
    cost: Number(event.cost.amount),
    estimated: event.estimated,
    durationMs: event.durationMs,
    error: event.error,
  }));
}

function blankModelCall(id: string, iteration: number, sequence: number, at: number): ModelCallView {
  return {
    id,
    iteration,
    sequence,
    alias: "",
    deployment: "",
    fallbackIndex: 0,
    fallbackBecause: null,
    failedTries: [],
    state: "STARTED",
    text: "",
    reservedCost: 0,
    reservedTokens: 0,
    tokens: null,
    cost: null,
    estimated: false,
    finishReason: null,
    error: null,
    startedAt: at,
    durationMs: null,
  };
}
