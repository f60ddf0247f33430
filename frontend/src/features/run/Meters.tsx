import { Tooltip } from "@mantine/core";
import { useRef } from "react";
import type { FragmentType } from "@/graphql/generated";
import { useNow } from "@/lib/useNow";
import { advanceBudget, readBudget } from "./model/budget";
import type { BudgetFields } from "./model/events.graphql";
import { limitSources } from "./model/limitSources";
import type { LimitSourceView } from "./model/limitSources";
import { meterViews, runningActiveTime } from "./model/meters";
import type { MeterView } from "./model/meters";
import type { RunView } from "./model/types";
import classes from "./Meters.module.css";

interface Props {
  view: RunView;
  /** The budget as the API gave it, until the log tells more. */
  initial: FragmentType<typeof BudgetFields> | undefined;
  /** Who set which limit, for the tooltips. */
  limits: readonly LimitSourceView[];
  isWorking: boolean;
}

export function Meters({ view, initial, limits, isWorking }: Props) {
  const now = useNow(isWorking);
  const steady = useSteady();
  const first = initial === undefined ? null : readBudget(initial);
  const budget = view.budget === null ? first : advanceBudget(first, view.budget);
  if (budget === null) return <div className={classes.meters} aria-hidden />;
  const activeTime = steady(runningActiveTime(budget, view.budgetAt, now, isWorking), isWorking);
  return (
    <div className={classes.meters}>
      {meterViews(budget, activeTime).map((meter) => (
        <MeterCell key={meter.key} meter={meter} sources={limitSources(meter.key, limits)} />
      ))}
    </div>
  );
}

/** The clock of this computer may be ahead of the next reading: it then waits, and only the end sets it right. */
function useSteady(): (ms: number, isWorking: boolean) => number {
  const furthest = useRef(0);
  return (ms, isWorking) => {
    furthest.current = isWorking ? Math.max(furthest.current, ms) : ms;
    return furthest.current;
  };
}

function MeterCell({ meter, sources }: { meter: MeterView; sources: string }) {
  return (
    <Tooltip label={`${meter.exact}${sources}`} openDelay={300} position="bottom">
      <div className={classes.meter} data-warning={meter.isWarning || undefined}>
        <div className={classes.line}>
          <span>{meter.label}</span>
          <span className="num">
            <span className={classes.spent}>{meter.spent}</span>
            {meter.rest}
            <span className={classes.note}>{meter.note}</span>
          </span>
        </div>
        <div
          className={classes.bar}
          role="meter"
          aria-label={meter.label}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(meter.spentPart * 100)}
          aria-valuetext={`${meter.spent}${meter.rest}${meter.isWarning ? ", close to the limit" : ""}`}
        >
          <span className={classes.fill} style={{ width: `${meter.spentPart * 100}%` }} />
          <span className={classes.reserved} style={{ width: `${meter.reservedPart * 100}%` }} />
        </div>
      </div>
    </Tooltip>
  );
}
