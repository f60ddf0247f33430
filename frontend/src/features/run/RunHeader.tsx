import { ActionIcon, CopyButton, Skeleton, Tooltip } from "@mantine/core";
import { IconCheck, IconLink } from "@tabler/icons-react";
import { TopBar } from "@/app/shell/TopBar";
import type { ExecutionStatus } from "@/graphql/generated/graphql";
import { formatClock, formatDuration, shortId } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { StatusBadge } from "@/ui/StatusBadge";
import { ScriptedTag, Tag } from "@/ui/Tag";
import type { RunView } from "./model/types";
import type { Run } from "./run";
import classes from "./run.module.css";
import { StopButton } from "./StopButton";

interface Props {
  id: string;
  run: Run | null;
  view: RunView;
  status: ExecutionStatus | null;
}

export function RunHeader({ id, run, view, status }: Props) {
  return (
    <TopBar
      parents={[{ href: "/", label: "Runs" }]}
      here={run?.agent?.name ?? (run === null ? "…" : "Run")}
      details={
        <>
          {run?.agentVersion && (
            <span className={classes.version}>
              <Tag>v{run.agentVersion.number}</Tag>
            </span>
          )}
          <code className={`${classes.id} dim`} title={id}>
            {shortId(id)}
          </code>
          {status === null ? <Skeleton width={90} height={20} radius="xl" /> : <RunStatus status={status} run={run} view={view} />}
          {run?.scripted && <ScriptedTag />}
        </>
      }
      actions={
        <>
          <CopyLink />
          <StopButton executionId={id} status={status} />
        </>
      }
    />
  );
}

function RunStatus({ status, run, view }: { status: ExecutionStatus; run: Run | null; view: RunView }) {
  const endedAt = view.endedAt ?? (run?.endedAt ? Date.parse(run.endedAt) : null);
  const now = useNow(view.startedAt !== null && endedAt === null);
  const detail = view.startedAt === null ? undefined : timeOf(view.startedAt, endedAt, now);
  return <StatusBadge pill status={status} stopCode={view.stopReason?.code} detail={detail} />;
}

function timeOf(startedAt: number, endedAt: number | null, now: number): string {
  return endedAt === null ? formatClock(now - startedAt) : formatDuration(endedAt - startedAt);
}

function CopyLink() {
  return (
    <CopyButton value={location.href}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : "Copy a link to this run"}>
          <ActionIcon variant="default" size={30} onClick={copy} aria-label="Copy a link to this run" className={classes.copyLink}>
            {copied ? <IconCheck size={16} /> : <IconLink size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}
