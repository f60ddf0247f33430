import type { ReactNode } from "react";
import { Rail } from "./Rail";
import classes from "./Shell.module.css";

/** The frame of every page: a rail on the left and the page, whose bar stays where it is. */
export function Shell({ children }: { children: ReactNode }) {
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <Rail />
      {children}
    </div>
  );
}
