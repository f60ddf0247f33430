import { Skeleton } from "@mantine/core";
import { formatBytes, formatShortMoment } from "@/lib/format";
import type { RunView } from "../model/types";
import type { Run } from "../run";
import { Fact, Facts, Heading } from "./Facts";
import { SandboxFacts } from "./SandboxFacts";
import classes from "./details.module.css";

export function RunDetails({ run, view }: { run: Run | null; view: RunView }) {
  const task = run?.task ?? view.task;
  return (
    <>
      <Heading>Task</Heading>
      {task === null ? <Skeleton height={12} width="70%" mx={14} my={6} /> : <p className={classes.task}>{task}</p>}
      <Heading>Run</Heading>
      <Facts>
        <Fact name="Queued">{view.queuedAt === null ? null : formatShortMoment(view.queuedAt)}</Fact>
        <Fact name="Started">{view.startedAt === null ? null : formatShortMoment(view.startedAt)}</Fact>
        <Fact name="Ended">{view.endedAt === null ? null : formatShortMoment(view.endedAt)}</Fact>
        <Fact name="Attempts">{view.attempt > 1 ? view.attempt : null}</Fact>
        <Fact name="Model">{run?.scripted ? "scripted" : null}</Fact>
        {run?.inputs.map((input) => (
          <Fact key={input.id} name="Input">
            {input.name} · {formatBytes(Number(input.byteSize))}
          </Fact>
        ))}
      </Facts>
      <SandboxFacts sandbox={view.sandboxes.at(-1) ?? null} isOver={view.endedAt !== null} />
    </>
  );
}
