import {
  IconBan,
  IconCircleCheck,
  IconCircleFilled,
  IconCircleHalf2,
  IconCircleX,
  IconClock,
  IconCoin,
  IconHandStop,
  IconPlayerStop,
  IconRepeat,
} from "@tabler/icons-react";
import type { ExecutionStatus, StopReasonCode } from "@/graphql/generated/graphql";

export type Tone = "faint" | "accent" | "wait" | "ok" | "bad" | "warn" | "dim";

export interface StatusLook {
  word: string;
  tone: Tone;
  Icon: typeof IconClock;
  pulsing?: boolean;
}

const STOPPED_BY: Partial<Record<StopReasonCode, StatusLook>> = {
  LOOP_DETECTED: { word: "Stopped: loop", tone: "warn", Icon: IconRepeat },
  ITERATION_LIMIT: { word: "Stopped: iterations", tone: "warn", Icon: IconCoin },
  MODEL_CALL_LIMIT: { word: "Stopped: model calls", tone: "warn", Icon: IconCoin },
  TOOL_CALL_LIMIT: { word: "Stopped: tool calls", tone: "warn", Icon: IconCoin },
  TOKEN_LIMIT: { word: "Stopped: tokens", tone: "warn", Icon: IconCoin },
  COST_LIMIT: { word: "Stopped: cost", tone: "warn", Icon: IconCoin },
  ACTIVE_TIME_LIMIT: { word: "Stopped: time", tone: "warn", Icon: IconCoin },
  DEADLINE_EXCEEDED: { word: "Stopped: deadline", tone: "warn", Icon: IconClock },
  MODEL_OUTPUT_TRUNCATED: { word: "Partial answer", tone: "warn", Icon: IconCircleHalf2 },
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
  const stopped = status === "STOPPED" && stopCode ? STOPPED_BY[stopCode] : undefined;
  return stopped ?? LOOKS[status] ?? { word: status.toLowerCase(), tone: "dim", Icon: IconClock };
}

export function isTerminal(status: ExecutionStatus): boolean {
  return status === "SUCCEEDED" || status === "FAILED" || status === "STOPPED" || status === "CANCELLED";
}
