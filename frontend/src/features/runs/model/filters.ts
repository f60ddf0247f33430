import type { ExecutionStatus } from "@/graphql/generated/graphql";

export interface RunFilter {
  key: string;
  label: string;
  statuses: ExecutionStatus[] | null;
}

export const ALL_RUNS: RunFilter = { key: "all", label: "All", statuses: null };

export const RUN_FILTERS: RunFilter[] = [
  ALL_RUNS,
  { key: "active", label: "Active", statuses: ["QUEUED", "RUNNING", "WAITING", "CANCELLING"] },
  { key: "succeeded", label: "Succeeded", statuses: ["SUCCEEDED"] },
  { key: "failed", label: "Failed", statuses: ["FAILED"] },
  { key: "stopped", label: "Stopped", statuses: ["STOPPED"] },
  { key: "cancelled", label: "Cancelled", statuses: ["CANCELLED"] },
];

export function filterByKey(key: string | null): RunFilter {
  return RUN_FILTERS.find((filter) => filter.key === key) ?? ALL_RUNS;
}
