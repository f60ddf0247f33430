import { SegmentedControl, Skeleton } from "@mantine/core";
import { IconCoin } from "@tabler/icons-react";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { useQuery } from "urql";
import { Page } from "@/app/shell/Page";
import { TopBar } from "@/app/shell/TopBar";
import { useProjectId } from "@/app/viewer";
import type { CostBy } from "@/graphql/generated/graphql";
import { FaultNotice } from "@/ui/FaultNotice";
import { Notice } from "@/ui/Notice";
import { CostFigures } from "./CostFigures";
import { CostsQuery } from "./costs.graphql";
import { CostTable } from "./CostTable";
import classes from "./costs.module.css";
import { type Span, costRows, spanFrom, totalsOf } from "./model/lines";

const BY: { value: CostBy; label: string }[] = [
  { value: "MODEL", label: "By model" },
  { value: "AGENT", label: "By agent" },
  { value: "DAY", label: "By day" },
];
const SPANS: { value: Span; label: string }[] = [
  { value: "day", label: "Today" },
  { value: "week", label: "7 days" },
  { value: "month", label: "30 days" },
  { value: "all", label: "All time" },
];

/** What a project's model calls cost: the exact sums of the stored calls. */
export default function CostsPage() {
  const projectId = useProjectId();
  const [search, setSearch] = useSearchParams();
  const by = BY.find(({ value }) => value === search.get("by"))?.value ?? "MODEL";
  const span = SPANS.find(({ value }) => value === search.get("span"))?.value ?? "month";
  const [now] = useState(() => Date.now());
  const [{ data, error }, refetch] = useQuery({
    query: CostsQuery,
    variables: { by, filter: { projectId: projectId ?? "", from: spanFrom(span, now) } },
    pause: projectId === null,
    requestPolicy: "cache-and-network",
  });
  const summary = data?.costSummary ?? null;
  const isEmpty = projectId === null || (summary !== null && summary.lines.nodes.length === 0);
  return (
    <Page title="Costs" bar={<TopBar here="Costs" />}>
      <div className={classes.filters}>
        <Choice label="Group costs" value={by} data={BY} onChange={(value) => setSearch({ by: value, span }, { replace: true })} />
        <Choice label="Time" value={span} data={SPANS} onChange={(value) => setSearch({ by, span: value }, { replace: true })} />
        <span className="faint">Days in UTC</span>
      </div>
      {error && summary === null && (
        <FaultNotice error={error} title="The costs cannot be shown" onRetry={() => refetch({ requestPolicy: "network-only" })} />
      )}
      {isEmpty && (
        <Notice icon={<IconCoin size={22} />} title="No model calls in this time">
          What runs cost appears here as soon as a model call has ended.
        </Notice>
      )}
      {!isEmpty && !error && summary === null && <Skeleton height={200} m={16} />}
      {!isEmpty && summary !== null && (
        <>
          <CostFigures totals={totalsOf(summary)} />
          <CostTable rows={costRows(summary, by)} by={by} />
          {summary.lines.pageInfo.hasNextPage && (
            <p className={classes.rest}>These are the first 100; the sum above is of all. The API lists the others.</p>
          )}
        </>
      )}
    </Page>
  );
}

interface ChoiceProps<Value extends string> {
  label: string;
  value: Value;
  data: { value: Value; label: string }[];
  onChange: (value: Value) => void;
}

function Choice<Value extends string>({ label, value, data, onChange }: ChoiceProps<Value>) {
  return (
    <SegmentedControl
      size="xs"
      className={classes.filter}
      withItemsBorders={false}
      aria-label={label}
      value={value}
      data={data}
      onChange={onChange}
    />
  );
}
