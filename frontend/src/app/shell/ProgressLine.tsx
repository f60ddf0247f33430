import classes from "./ProgressLine.module.css";

export function ProgressLine() {
  return <div className={classes.line} role="progressbar" aria-label="Loading" />;
}
