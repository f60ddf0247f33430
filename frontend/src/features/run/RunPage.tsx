import { useCallback, useEffect } from "react";
import { useQuery } from "urql";
import { useSearchParams } from "wouter";
import shell from "@/app/shell/Shell.module.css";
import { useTitle } from "@/app/shell/Page";
import { DetailsPane } from "./details/DetailsPane";
import { Meters } from "./Meters";
import { currentStatus, phaseOf } from "./model/phase";
import { selectionOf } from "./model/selection";
import { Panes } from "./Panes";
import { RunHeader } from "./RunHeader";
import { RunQuery } from "./run.graphql";
import { RunUnavailable } from "./RunUnavailable";
import { StepsPane } from "./StepsPane";
import { StreamPane } from "./stream/StreamPane";
import { useRunLog } from "./useRunLog";
import { isTerminal } from "@/ui/status";
import type { Run } from "./run";

export default function RunPage({ id }: { id: string }) {
  const [{ data, error, fetching }, refetch] = useQuery({ query: RunQuery, variables: { id }, requestPolicy: "cache-and-network" });
  const { view, problem } = useRunLog(id);
  const [search, setSearch] = useSearchParams();
  const run = data?.execution ?? null;
  const phase = phaseOf(run?.status ?? null, view.status);
  const chosen = search.get("call");
  const selection = selectionOf(view, chosen, phase);
  useEndOf(view.endedAt, run, refetch);
  useTitle(run?.agent?.name ?? "Run");

  const select = useCallback(
    (call: string) => {
      setSearch({ call }, { replace: true });
      document.getElementById(call)?.scrollIntoView({ block: "nearest" });
    },
    [setSearch],
  );

  const isMissing = data !== undefined && run === null;
  if (isMissing || (error !== undefined && run === null)) {
    return <RunUnavailable error={isMissing ? undefined : error} onRetry={() => refetch({ requestPolicy: "network-only" })} />;
  }
  const status = currentStatus(run?.status ?? null, view.status);
  return (
    <div className={shell.page} aria-busy={fetching && run === null}>
      <div>
        <RunHeader id={id} run={run} view={view} status={status} />
        <Meters view={view} initial={run?.budget} limits={run?.effectiveLimits ?? []} isWorking={status === "RUNNING" || status === "CANCELLING"} />
      </div>
      <Panes
        chosen={chosen}
        steps={<StepsPane view={view} selectedId={selection?.id ?? null} onSelect={select} />}
        stream={<StreamPane run={run} view={view} phase={phase} problem={problem} selectedId={selection?.id ?? null} onSelect={select} />}
        details={<DetailsPane run={run} view={view} selection={selection} />}
      />
    </div>
  );
}

/** What the log does not tell, such as a partial answer, is asked for once the log has ended. */
function useEndOf(endedAt: number | null, run: Run | null, refetch: (options: { requestPolicy: "network-only" }) => void): void {
  const isBehindLog = endedAt !== null && run !== null && !isTerminal(run.status);
  useEffect(() => {
    if (isBehindLog) refetch({ requestPolicy: "network-only" });
  }, [isBehindLog, refetch]);
}
