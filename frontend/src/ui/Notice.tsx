import type { ReactNode } from "react";
import classes from "./ui.module.css";

interface Props {
  icon: ReactNode;
  title: string;
  children: ReactNode;
  action?: ReactNode;
  role?: "alert" | "status";
}

/** A designed state in place of content: what is missing, why, and what to do next. */
export function Notice({ icon, title, children, action, role }: Props) {
  return (
    <div className={classes.notice} role={role}>
      <span className={classes.noticeIcon}>{icon}</span>
      <h2 className={classes.noticeTitle}>{title}</h2>
      <div className={classes.noticeText}>{children}</div>
      {action}
    </div>
  );
}
