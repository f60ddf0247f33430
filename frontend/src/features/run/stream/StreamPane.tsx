import { Button } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { memo } from "react";
import type { Phase } from "../model/phase";
import type { RunView } from "../model/types";
import type { Run } from "../run";
import { IterationSection } from "./IterationSection";
import { ItemView } from "./ItemView";
import { Outcome } from "./Outcome";
import { StreamNotice } from "./StreamNotice";
import classes from "./stream.module.css";
import { useFollowTail } from "./useFollowTail";

interface Props {
  run: Run | null;
  view: RunView;
  phase: Phase;
  problem: string | null;
  selectedId: string | null;
  onSelect: (id: string) => void;
}

export const StreamPane = memo(function StreamPane({ run, view, phase, problem, selectedId, onSelect }: Props) {
  const tail = useFollowTail(phase);
  const hasEnded = view.endedAt !== null;
  return (
    <>
      <div className={classes.scroll} ref={tail.scrollRef} tabIndex={0} aria-label="What the run does">
        <div className={classes.column} ref={tail.contentRef}>
          {hasEnded && <Outcome run={run} view={view} />}
          <StreamNotice run={run} view={view} problem={problem} phase={phase} />
          {hasEnded && view.iterations.length > 0 && <h2 className={classes.way}>The way there</h2>}
          <div ref={tail.streamRef}>
            {view.iterations.map((iteration) => (
              <IterationSection key={iteration.number} iteration={iteration} view={view} selectedId={selectedId} onSelect={onSelect} />
            ))}
            {view.notices.map((item) => (
              <ItemView key={item.key} item={item} view={view} selectedId={selectedId} onSelect={onSelect} />
            ))}
          </div>
        </div>
      </div>
      {tail.isBehind && (
        <Button className={classes.jump} size="compact-sm" variant="default" radius="xl" leftSection={<IconArrowDown size={14} />} onClick={tail.jump}>
          Jump to live
        </Button>
      )}
      {tail.hasNewOutcome && (
        <Button className={classes.jump} size="compact-sm" variant="default" radius="xl" leftSection={<IconArrowUp size={14} />} onClick={tail.toOutcome}>
          The run ended: see the outcome
        </Button>
      )}
    </>
  );
});
