import { IconAlertTriangle, IconCheck, IconCircleFilled, IconCircleMinus, IconX } from "@tabler/icons-react";
import type { StepState } from "./model/steps";
import classes from "./run.module.css";

const MARKS = {
  running: { word: "running", tone: "accent", Icon: IconCircleFilled, size: 10 },
  ok: { word: "succeeded", tone: "ok", Icon: IconCheck, size: 14 },
  bad: { word: "failed", tone: "bad", Icon: IconX, size: 14 },
  lost: { word: "lost", tone: "warn", Icon: IconAlertTriangle, size: 13 },
  stopped: { word: "stopped", tone: "dim", Icon: IconCircleMinus, size: 14 },
} as const;

export function StateMark({ state }: { state: StepState }) {
  const { word, tone, Icon, size } = MARKS[state];
  return (
    <span className={`${classes.mark} ${tone}`} role="img" aria-label={word}>
      <Icon size={size} stroke={2.4} className={state === "running" ? classes.pulsing : undefined} aria-hidden />
    </span>
  );
}
