/**
 * Where a run stands, told by its log and by the API's description of it. While the log of an
 * ended run is still being read, its end is already known: the page must not play it as live.
 */
import type { ExecutionStatus } from "@/graphql/generated/graphql";
import { isTerminal } from "@/ui/status";

export type Phase = "unknown" | "live" | "over";

export function currentStatus(described: ExecutionStatus | null, folded: ExecutionStatus | null): ExecutionStatus | null {
  if (described !== null && isTerminal(described)) return described;
  return folded ?? described;
}

export function phaseOf(described: ExecutionStatus | null, folded: ExecutionStatus | null): Phase {
  if (folded !== null && isTerminal(folded)) return "over";
  if (described === null) return "unknown";
  return isTerminal(described) ? "over" : "live";
}
