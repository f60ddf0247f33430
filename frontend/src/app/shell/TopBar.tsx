import type { ReactNode } from "react";
import { Link } from "wouter";
import { ConnectionPill } from "./ConnectionPill";
import classes from "./Shell.module.css";

interface Props {
  /** Where one comes from, and where one is. */
  parents?: { href: string; label: string }[];
  here: string;
  details?: ReactNode;
  actions?: ReactNode;
}

export function TopBar({ parents, here, details, actions }: Props) {
  return (
    <header className={classes.bar}>
      <nav aria-label="Breadcrumbs" className={classes.crumbs}>
        {parents?.map(({ href, label }) => (
          <span key={href} className={classes.crumb}>
            <Link href={href}>{label}</Link>
            <span aria-hidden>/</span>
          </span>
        ))}
        <h1 className={classes.here}>{here}</h1>
      </nav>
      <div className={classes.details}>
        {details}
        <ConnectionPill />
      </div>
      <div className={classes.actions}>{actions}</div>
    </header>
  );
}
