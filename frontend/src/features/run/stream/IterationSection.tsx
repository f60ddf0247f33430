import { memo } from "react";
import { formatCount, formatDuration, formatStepMoney } from "@/lib/format";
import type { IterationView, RunView } from "../model/types";
import { ItemView } from "./ItemView";
import classes from "./stream.module.css";

interface Props {
  iteration: IterationView;
  view: RunView;
  selectedId: string | null;
  onSelect: (id: string) => void;
}

export const IterationSection = memo(function IterationSection({ iteration, view, selectedId, onSelect }: Props) {
  return (
    <section aria-label={`Iteration ${iteration.number}`}>
      <h3 className={classes.iteration} id={`iteration-${iteration.number}`}>
        <b>Iteration {iteration.number}</b>
        <span className="num">{summaryOf(iteration, view)}</span>
      </h3>
      {iteration.items.map((item) => (
        <ItemView key={item.key} item={item} view={view} selectedId={selectedId} onSelect={onSelect} />
      ))}
    </section>
  );
}, isUnchanged);

/** An iteration shows only its own calls: those of others may change without touching it. */
function isUnchanged(before: Props, after: Props): boolean {
  if (before.iteration !== after.iteration || before.onSelect !== after.onSelect) return false;
  return after.iteration.items.every(
    ({ key }) =>
      before.view.modelCalls[key] === after.view.modelCalls[key] &&
      before.view.toolCalls[key] === after.view.toolCalls[key] &&
      (key === before.selectedId) === (key === after.selectedId),
  );
}

function summaryOf(iteration: IterationView, view: RunView): string {
  const calls = iteration.items.flatMap(({ key }) => view.modelCalls[key] ?? []);
  const tokens = calls.reduce((sum, call) => sum + (call.tokens?.total ?? 0), 0);
  const cost = calls.reduce((sum, call) => sum + (call.cost ?? 0), 0);
  const last = calls.at(-1);
  return [
    ...(last !== undefined && last.fallbackIndex > 0 ? [`${last.alias} (fallback ${last.fallbackIndex})`] : []),
    ...(tokens > 0 ? [`${formatCount(tokens)} tokens`, formatStepMoney(cost)] : []),
    iteration.endedAt === null ? "running" : formatDuration(iteration.endedAt - iteration.startedAt),
  ].join(" · ");
}
