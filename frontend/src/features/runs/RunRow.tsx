import { Tooltip } from "@mantine/core";
import { Link } from "wouter";
import { readFragment } from "@/graphql/generated";
import type { RunRowFragment } from "@/graphql/generated/graphql";
import { StopReasonFields } from "@/features/run/model/events.graphql";
import { formatAgo, formatClock, formatCount, formatDuration, formatExact, formatMoment, formatMoney } from "@/lib/format";
import { StatusBadge } from "@/ui/StatusBadge";
import { Tag } from "@/ui/Tag";
import classes from "./runs.module.css";

export function RunRow({ run, now }: { run: RunRowFragment; now: number }) {
  const stopReason = readFragment(StopReasonFields, run.stopReason);
  const startedAt = Date.parse(run.startedAt ?? run.createdAt);
  const tokens = Number(run.budget.tokens.used);
  return (
    <tr className={classes.row}>
      <td className={classes.status}>
        <StatusBadge status={run.status} stopCode={stopReason?.code} />
      </td>
      <td className={classes.agent}>
        <Link href={`/runs/${run.id}`} className={classes.link}>
          {run.agent?.name ?? "Agent not open to you"}
        </Link>
        {run.agentVersion && <Tag>v{run.agentVersion.number}</Tag>}
      </td>
      <td className={classes.task}>
        <div>
          <span className={classes.taskText}>{run.task}</span>
          {run.scripted && <Tag tone="warn">scripted</Tag>}
        </div>
      </td>
      <td className={`${classes.figure} num`}>{formatMoney(Number(run.budget.cost.spent.amount))}</td>
      <td className={`${classes.figure} num`} title={`${formatExact(tokens)} tokens`}>
        {formatCount(tokens)}
      </td>
      <td className={`${classes.figure} num`}>{duration(run, now)}</td>
      <td className={classes.started}>
        <Tooltip label={formatMoment(startedAt)} openDelay={300}>
          <time dateTime={run.startedAt ?? run.createdAt}>{formatAgo(startedAt, now)}</time>
        </Tooltip>
      </td>
    </tr>
  );
}

function duration(run: RunRowFragment, now: number): string {
  if (run.startedAt === null) return "–";
  const startedAt = Date.parse(run.startedAt);
  return run.endedAt === null ? formatClock(now - startedAt) : formatDuration(Date.parse(run.endedAt) - startedAt);
}
