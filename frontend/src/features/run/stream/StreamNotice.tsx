import { Button, Skeleton } from "@mantine/core";
import { IconClock, IconPlugConnectedX } from "@tabler/icons-react";
import { Notice } from "@/ui/Notice";
import type { Phase } from "../model/phase";
import type { RunView } from "../model/types";
import type { Run } from "../run";

interface Props {
  run: Run | null;
  view: RunView;
  problem: string | null;
  phase: Phase;
}

/** What stands in the stream while there is nothing in it yet, or when it cannot be read. */
export function StreamNotice({ run, view, problem, phase }: Props) {
  if (problem !== null) {
    return (
      <Notice
        role="alert"
        icon={<IconPlugConnectedX size={22} />}
        title="The log cannot be followed"
        action={
          <Button size="xs" variant="default" onClick={() => location.reload()}>
            Read it again
          </Button>
        }
      >
        {problem} What is shown was read before; the run itself is not affected.
      </Notice>
    );
  }
  if (view.iterations.length > 0 || view.endedAt !== null) return null;
  if (run === null || view.status === null || phase === "over") {
    return (
      <div aria-hidden>
        <Skeleton height={12} width="38%" mb={18} />
        <Skeleton height={12} width="92%" mb={10} />
        <Skeleton height={12} width="84%" mb={22} />
        <Skeleton height={150} radius={8} />
      </div>
    );
  }
  return (
    <Notice role="status" icon={<IconClock size={22} />} title={view.status === "QUEUED" ? "Waiting for a worker" : "Starting"}>
      {run.task}
    </Notice>
  );
}
