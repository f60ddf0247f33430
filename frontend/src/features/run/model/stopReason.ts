/** Why a run ended, in words: the server's sentence stands, this names the cause before it. */
import type { StopReasonCode } from "@/graphql/generated/graphql";
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

export function whereOf(reason: StopReasonView): string | null {
  const parts = [
    ...(reason.limit === null ? [] : [`limit ${reason.limit}`]),
    ...(reason.iteration === null ? [] : [`at iteration ${reason.iteration}`]),
  ];
  return parts.length === 0 ? null : parts.join(" · ");
}
