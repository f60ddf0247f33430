/** Why a run ended, in words: the server's sentence stands, this names the cause before it. */
import { formatDuration, formatExact, formatMoment } from "@/lib/format";
import type { StopReasonCode, StopStep } from "@/graphql/generated/graphql";
import type { StopReasonView } from "./types";

const CAUSES: Record<StopReasonCode, string> = {
  FINAL_ANSWER: "The agent gave its final answer",
  CANCELLED: "Stopped by a person",
  DEADLINE_EXCEEDED: "The deadline passed",
  ITERATION_LIMIT: "The limit of iterations was reached",
  MODEL_CALL_LIMIT: "The limit of model calls was reached",
  TOOL_CALL_LIMIT: "The limit of tool calls was reached",
  TOKEN_LIMIT: "The limit of tokens was reached",
  COST_LIMIT: "The cost limit was reached",
  ACTIVE_TIME_LIMIT: "The limit of active time was reached",
  TOOL_ERROR_LIMIT: "A tool failed too often",
  LOOP_DETECTED: "The agent repeated itself",
  MODEL_FAILED: "The model could not be reached or failed",
  MODEL_OUTPUT_TRUNCATED: "The model's answer was cut off",
  CONTENT_FILTERED: "The provider's filter withheld the answer",
  SANDBOX_UNAVAILABLE: "The sandbox was not available",
  ACCESS_DENIED: "Access was denied",
  TOOL_OUTCOME_UNKNOWN: "The outcome of a tool call is not known",
  PRICE_UNKNOWN: "The price of the model is not known",
  INTERNAL: "A fault inside the server",
};

export function causeOf(reason: StopReasonView): string {
  return CAUSES[reason.code] ?? reason.code.toLowerCase().replaceAll("_", " ");
}

/** What a person can do about it; the server's sentence tells what happened. */
const NEXT: Partial<Record<StopReasonCode, string>> = {
  ITERATION_LIMIT: "Give the run more iterations, or the agent a smaller task.",
  MODEL_CALL_LIMIT: "Allow more model calls, or give the agent a smaller task.",
  TOOL_CALL_LIMIT: "Allow more tool calls, or give the agent a smaller task.",
  TOKEN_LIMIT: "Allow more tokens, or give the agent a smaller task.",
  COST_LIMIT: "Raise the cost limit, or choose a cheaper model.",
  ACTIVE_TIME_LIMIT: "Give the run more time, or the agent a smaller task.",
  DEADLINE_EXCEEDED: "Start it again with a later deadline.",
  TOOL_ERROR_LIMIT: "Read what the tool said in the last steps, and mend what it asks for.",
  LOOP_DETECTED: "Look at the calls that repeat: the instructions may lack a way out.",
  MODEL_FAILED: "Check the model's address, credential and deployment, then start it again.",
  MODEL_OUTPUT_TRUNCATED: "Allow the model more output tokens.",
  SANDBOX_UNAVAILABLE: "Check the sandbox connection, then start it again.",
  PRICE_UNKNOWN: "Give the model a price version, or lift the cost limit.",
};

export function nextOf(reason: StopReasonView): string | null {
  return NEXT[reason.code] ?? null;
}

const LIMIT_UNITS: Record<string, (value: string) => string> = {
  maxIterations: (value) => `${value} iterations`,
  maxModelCalls: (value) => `${value} model calls`,
  maxToolCalls: (value) => `${value} tool calls`,
  maxTokens: (value) => `${formatExact(Number(value))} tokens`,
  maxCostUsd: (value) => `$${value.replace("$", "")}`,
  maxActiveTimeMs: (value) => formatDuration(Number(value)),
  maxErrorsPerTool: (value) => `${value} errors of one tool`,
  deadlineAt: (value) => formatMoment(Date.parse(value)),
};

/** The limit that was reached, as people say it; one of a form that is not known stands as it is. */
export function limitOf({ limit }: StopReasonView): string | null {
  if (limit === null) return null;
  const [name = "", value] = limit.split(" ");
  const inWords = LIMIT_UNITS[name];
  return value === undefined || inWords === undefined ? limit : inWords(value);
}

const STEPS: Record<StopStep, (iteration: number) => string> = {
  ITERATION: (iteration) => `after iteration ${iteration}`,
  MODEL_CALL: (iteration) => `at the model call of iteration ${iteration}`,
  TOOL_CALLS: (iteration) => `at the tool calls of iteration ${iteration}`,
};

function placeOf({ step, iteration }: StopReasonView): string[] {
  if (iteration === null) return [];
  return [(step && STEPS[step]?.(iteration)) ?? `at iteration ${iteration}`];
}

export function whereOf(reason: StopReasonView): string | null {
  const limit = limitOf(reason);
  const parts = [
    ...(limit === null ? [] : [`limit ${limit}`]),
    ...placeOf(reason),
  ];
  return parts.length === 0 ? null : parts.join(" · ");
}
