import type { ExecutionStatus, StopReasonCode } from "@/graphql/generated/graphql";
import { statusLook } from "./status";
import classes from "./ui.module.css";

interface Props {
  status: ExecutionStatus;
  stopCode?: StopReasonCode | null | undefined;
  /** Text after the word, such as a running clock. */
  detail?: string | undefined;
  pill?: boolean;
}

export function StatusBadge({ status, stopCode, detail, pill = false }: Props) {
  const { word, tone, Icon, pulsing = false } = statusLook(status, stopCode ?? null);
  return (
    <span className={`${classes.status} ${tone} ${pill ? classes.pill : ""}`} data-tone={tone}>
      <Icon size={pulsing ? 10 : 15} className={pulsing ? classes.pulsing : undefined} aria-hidden />
      <span>{word}</span>
      {detail !== undefined && (
        <span className={classes.detail}>
          <span aria-hidden>·</span>
          <span className="num">{detail}</span>
        </span>
      )}
    </span>
  );
}
