import { Button, SegmentedControl } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link, useSearchParams } from "wouter";
import { Page } from "@/app/shell/Page";
import { TopBar } from "@/app/shell/TopBar";
import { useProjectId } from "@/app/viewer";
import { FaultNotice } from "@/ui/FaultNotice";
import { ALL_RUNS, RUN_FILTERS, filterByKey } from "./model/filters";
import { NoRuns } from "./NoRuns";
import { RunTable } from "./RunTable";
import classes from "./runs.module.css";
import { useRuns } from "./useRuns";

export function RunsPage() {
  const [search, setSearch] = useSearchParams();
  const filter = filterByKey(search.get("status"));
  const runs = useRuns(useProjectId(), filter);
  const start = (
    <Button component={Link} href="/start" size="xs" leftSection={<IconPlus size={15} />}>
      Start a run
    </Button>
  );
  const isBroken = runs.error !== undefined && runs.rows.length === 0;
  const isEmpty = runs.loaded && runs.rows.length === 0 && !isBroken;

  return (
    <Page title="Runs" bar={<TopBar here="Runs" actions={start} />}>
      <div className={classes.filters}>
        <SegmentedControl
          size="xs"
          className={classes.filter}
          withItemsBorders={false}
          aria-label="Show runs by status"
          value={filter.key}
          data={RUN_FILTERS.map(({ key, label }) => ({ value: key, label }))}
          onChange={(key) => setSearch(key === ALL_RUNS.key ? {} : { status: key }, { replace: true })}
        />
      </div>
      {isBroken && runs.error && <FaultNotice error={runs.error} title="The runs cannot be shown" onRetry={runs.retry} />}
      {isEmpty && <NoRuns filter={filter} />}
      {!isBroken && !isEmpty && <RunTable rows={runs.rows} loading={!runs.loaded} />}
      {runs.hasMore && (
        <div className={classes.more}>
          <Button size="xs" variant="default" loading={runs.fetching} onClick={runs.loadMore}>
            Load more
          </Button>
        </div>
      )}
    </Page>
  );
}
