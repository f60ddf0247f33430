/**
 * The list of runs: pages that were asked for, merged with updates that arrive by themselves.
 * A run stands in it once, in its newest known form, at its place by time of creation.
 */
import type { ExecutionStatus, RunRowFragment } from "@/graphql/generated/graphql";
import { isTerminal } from "@/ui/status";

export interface RunList {
  byId: Readonly<Record<string, RunRowFragment>>;
  endCursor: string | null;
  hasMore: boolean;
  /** Creation time of the last run of the pages; older updates wait for their page. */
  reachedBack: string | null;
  loaded: boolean;
}

export const EMPTY_LIST: RunList = { byId: {}, endCursor: null, hasMore: false, reachedBack: null, loaded: false };

export interface RunPageInfo {
  hasNextPage: boolean;
  endCursor: string | null;
}

export function addPage(list: RunList, rows: readonly RunRowFragment[], page: RunPageInfo): RunList {
  return {
    byId: merge(list.byId, rows),
    endCursor: page.endCursor ?? list.endCursor,
    hasMore: page.hasNextPage,
    reachedBack: rows.at(-1)?.createdAt ?? list.reachedBack,
    loaded: true,
  };
}

export function addUpdates(list: RunList, rows: readonly RunRowFragment[]): RunList {
  return { ...list, byId: merge(list.byId, rows) };
}

export function visibleRuns(list: RunList, statuses: readonly ExecutionStatus[] | null): RunRowFragment[] {
  return Object.values(list.byId)
    .filter((row) => statuses === null || statuses.includes(row.status))
    .filter((row) => !list.hasMore || list.reachedBack === null || row.createdAt >= list.reachedBack)
    .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt) || b.id.localeCompare(a.id));
}

function merge(byId: RunList["byId"], rows: readonly RunRowFragment[]): RunList["byId"] {
  const next = { ...byId };
  for (const row of rows) {
    const known = next[row.id];
    if (known === undefined || !isOlder(row, known)) next[row.id] = row;
  }
  return next;
}

/** A page that was read before an update may arrive after it. */
function isOlder(row: RunRowFragment, known: RunRowFragment): boolean {
  if (isTerminal(known.status)) return !isTerminal(row.status);
  return !isTerminal(row.status) && Number(row.budget.tokens.used) < Number(known.budget.tokens.used);
}
