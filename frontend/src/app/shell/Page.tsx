import { useEffect } from "react";
import type { ReactNode } from "react";
import classes from "./Shell.module.css";

/** A page with a bar that stays and a body that scrolls by itself. */
export function Page({ title, bar, children }: { title: string; bar: ReactNode; children: ReactNode }) {
  useTitle(title);
  return (
    <div className={classes.page}>
      {bar}
      <main id="main" tabIndex={-1} className={classes.scroll}>
        {children}
      </main>
    </div>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Vitrine`;
  }, [title]);
}
