import { memo, useMemo } from "react";
import { formatClock, formatCount, formatDuration, formatTightMoney } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { stepsOf } from "./model/steps";
import type { Step, StepLeaf } from "./model/steps";
import type { RunView } from "./model/types";
import classes from "./StepsPane.module.css";
import { StateMark } from "./StateMark";

interface Props {
  view: RunView;
  selectedId: string | null;
  onSelect: (id: string) => void;
}

export const StepsPane = memo(function StepsPane({ view, selectedId, onSelect }: Props) {
  const steps = useMemo(() => stepsOf(view), [view]);
  const now = useNow(view.endedAt === null && view.startedAt !== null);
  return (
    <div className={classes.pane}>
      <h2 className={classes.heading}>Steps</h2>
      {steps.length === 0 && <p className={classes.empty}>{view.endedAt === null ? "The first iteration has not started." : "The run ended before its first iteration."}</p>}
      <ol className={classes.list}>
        {steps.map((step) => (
          <li key={step.number}>
            <StepLine step={step} now={now} />
            <ol className={classes.list}>
              {step.leaves.map((leaf) => (
                <li key={leaf.call.id}>
                  <LeafLine leaf={leaf} now={now} isSelected={leaf.call.id === selectedId} onSelect={onSelect} />
                </li>
              ))}
            </ol>
          </li>
        ))}
      </ol>
    </div>
  );
});

function StepLine({ step, now }: { step: Step; now: number }) {
  const time = step.endedAt === null ? formatClock(now - step.startedAt) : formatDuration(step.endedAt - step.startedAt);
  return (
    <a className={classes.step} href={`#iteration-${step.number}`} title={step.title} onClick={(event) => reveal(event, step.number)}>
      <StateMark state={step.state} />
      <span className={classes.title}>{step.title}</span>
      <span className={`${classes.figure} num`}>{time}</span>
    </a>
  );
}

function reveal(event: React.MouseEvent, number: number) {
  event.preventDefault();
  document.getElementById(`iteration-${number}`)?.scrollIntoView({ block: "start" });
}

interface LeafProps {
  leaf: StepLeaf;
  now: number;
  isSelected: boolean;
  onSelect: (id: string) => void;
}

function LeafLine({ leaf, now, isSelected, onSelect }: LeafProps) {
  return (
    <button type="button" className={classes.leaf} aria-current={isSelected} onClick={() => onSelect(leaf.call.id)}>
      {leaf.type === "tool" || leaf.state !== "ok" ? <StateMark state={leaf.state} /> : <span className={classes.noMark} />}
      <span className={classes.name}>
        {leaf.type === "model" ? `model · ${leaf.call.alias || "lost call"}` : leaf.call.tool}
        {leaf.type === "tool" && leaf.call.exitCode !== null && leaf.call.exitCode !== 0 && (
          <span className="bad"> exit {leaf.call.exitCode}</span>
        )}
      </span>
      <span className={`${classes.figure} num`}>{figureOf(leaf, now)}</span>
    </button>
  );
}

/** A call that failed tells how long it took; what it cost stands with its details. */
function figureOf({ type, call, state }: StepLeaf, now: number): string {
  if (type === "model" && state === "ok" && call.tokens !== null && call.cost !== null) {
    return `${formatCount(call.tokens.total)} · ${formatTightMoney(call.cost)}`;
  }
  if (call.durationMs !== null) return formatDuration(call.durationMs);
  return call.state === "STARTED" ? formatDuration(Math.max(1_000, now - call.startedAt)) : "";
}
