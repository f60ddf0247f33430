import { useCallback, useEffect, useRef, useState } from "react";
import { useClient } from "urql";
import type { CombinedError } from "urql";
import { readFragment } from "@/graphql/generated";
import type { RunRowFragment } from "@/graphql/generated/graphql";
import { createFrameBatch } from "@/lib/frameBatch";
import type { RunFilter } from "./model/filters";
import { EMPTY_LIST, addPage, addUpdates, visibleRuns } from "./model/runList";
import { RunRowFields, RunUpdatesSubscription, RunsQuery } from "./runs.graphql";

const PAGE_SIZE = 50;

/** The runs of a project that pass a filter, kept up to date by themselves. */
export function useRuns(projectId: string | null, filter: RunFilter) {
  const client = useClient();
  const [list, setList] = useState(EMPTY_LIST);
  const [fetching, setFetching] = useState(false);
  const [error, setError] = useState<CombinedError | undefined>();
  const newest = useRef(0);

  const load = useCallback(
    async (after: string | null) => {
      const request = ++newest.current;
      setFetching(true);
      const variables = { filter: { projectId, status: filter.statuses }, first: PAGE_SIZE, after };
      const { data, error: fault } = await client.query(RunsQuery, variables, { requestPolicy: "network-only" });
      // An answer to a filter that was left meanwhile is of no use.
      if (request !== newest.current) return;
      setFetching(false);
      setError(fault);
      const page = data?.executions;
      if (page) setList((known) => addPage(known, readFragment(RunRowFields, page.nodes), page.pageInfo));
    },
    [client, projectId, filter],
  );

  // A filter has pages of its own; what is known of each run stays.
  useEffect(() => {
    setList((known) => ({ ...EMPTY_LIST, byId: known.byId }));
    void load(null);
  }, [load]);

  // Without a filter on status: a run that leaves the filter must be heard of once more.
  useEffect(() => {
    const batch = createFrameBatch<RunRowFragment>((rows) => setList((known) => addUpdates(known, rows)));
    const { unsubscribe } = client
      .subscription(RunUpdatesSubscription, { filter: { projectId } })
      .subscribe(({ data }) => {
        if (data) batch.push(readFragment(RunRowFields, data.executionUpdates));
      });
    return () => {
      unsubscribe();
      batch.stop();
    };
  }, [client, projectId]);

  return {
    rows: visibleRuns(list, filter.statuses),
    loaded: list.loaded,
    hasMore: list.hasMore,
    fetching,
    error,
    loadMore: () => void load(list.endCursor),
    retry: () => void load(null),
  };
}
