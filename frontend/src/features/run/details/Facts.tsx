import type { ReactNode } from "react";
import classes from "./details.module.css";

export function Heading({ children }: { children: ReactNode }) {
  return <h2 className={classes.heading}>{children}</h2>;
}

export function Facts({ children }: { children: ReactNode }) {
  return <dl className={classes.facts}>{children}</dl>;
}

interface FactProps {
  name: string;
  children: ReactNode;
  tone?: string | undefined;
  /** Words, not a figure or a name. */
  isProse?: boolean;
}

/** A named value; one that is not known is left out. */
export function Fact({ name, children, tone, isProse = false }: FactProps) {
  if (children === null || children === undefined || children === "") return null;
  return (
    <>
      <dt>{name}</dt>
      <dd className={`${tone ?? ""} ${isProse ? classes.prose : ""}`}>{children}</dd>
    </>
  );
}
