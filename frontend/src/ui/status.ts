import {
  IconBan,
  IconCircleCheck,
  IconCircleFilled,
  IconCircleX,
  IconClock,
  IconCoin,
  IconHandStop,
  IconHourglass,
  IconListNumbers,
  IconMessage,
  IconPlayerStop,
  IconRepeat,
  IconTool,
} from "@tabler/icons-react";
import type { ExecutionStatus, StopReasonCode } from "@/graphql/generated/graphql";

export type Tone = "faint" | "accent" | "wait" | "ok" | "bad" | "warn" | "dim";

export interface StatusLook {
  word: string;
  tone: Tone;
  Icon: typeof IconClock;
  pulsing?: boolean;
}

/** What a limit is of. */
const LIMITS: Partial<Record<StopReasonCode, { what: string; Icon: typeof IconClock }>> = {
  LOOP_DETECTED: { what: "loop", Icon: IconRepeat },
  ITERATION_LIMIT: { what: "iterations", Icon: IconListNumbers },
  MODEL_CALL_LIMIT: { what: "model calls", Icon: IconMessage },
  TOOL_CALL_LIMIT: { what: "tool calls", Icon: IconTool },
  TOKEN_LIMIT: { what: "tokens", Icon: IconCoin },
  COST_LIMIT: { what: "cost", Icon: IconCoin },
  ACTIVE_TIME_LIMIT: { what: "time", Icon: IconHourglass },
  TOOL_ERROR_LIMIT: { what: "tool errors", Icon: IconTool },
  DEADLINE_EXCEEDED: { what: "deadline", Icon: IconClock },
};

const LOOKS: Record<ExecutionStatus, StatusLook> = {
  QUEUED: { word: "Queued", tone: "faint", Icon: IconClock },
  RUNNING: { word: "Running", tone: "accent", Icon: IconCircleFilled, pulsing: true },
  WAITING: { word: "Waiting for a person", tone: "wait", Icon: IconHandStop },
  CANCELLING: { word: "Stopping", tone: "dim", Icon: IconPlayerStop, pulsing: true },
  SUCCEEDED: { word: "Succeeded", tone: "ok", Icon: IconCircleCheck },
  FAILED: { word: "Failed", tone: "bad", Icon: IconCircleX },
  STOPPED: { word: "Stopped", tone: "warn", Icon: IconCoin },
  CANCELLED: { word: "Cancelled", tone: "dim", Icon: IconBan },
};

/** Status is always icon, word and colour together; a status that a newer server knows is named as it is. */
export function statusLook(status: ExecutionStatus, stopCode?: StopReasonCode | null): StatusLook {
  return limitLook(status, stopCode) ?? LOOKS[status] ?? { word: status.toLowerCase(), tone: "dim", Icon: IconClock };
}

/** A limit either stops a run or ends it with an error item, with which its caller goes on. */
function limitLook(status: ExecutionStatus, stopCode?: StopReasonCode | null): StatusLook | undefined {
  const limit = stopCode ? LIMITS[stopCode] : undefined;
  if (limit === undefined) return undefined;
  if (status === "STOPPED") return { word: `Stopped: ${limit.what}`, tone: "warn", Icon: limit.Icon };
  if (status === "SUCCEEDED") return { word: `Error item: ${limit.what}`, tone: "warn", Icon: limit.Icon };
  return undefined;
}

export function isTerminal(status: ExecutionStatus): boolean {
  return status === "SUCCEEDED" || status === "FAILED" || status === "STOPPED" || status === "CANCELLED";
}
