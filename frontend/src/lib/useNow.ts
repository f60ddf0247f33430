import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: number | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    now = Date.now();
    for (const notify of listeners) notify();
  }, 250);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

function idle(): () => void {
  return () => {};
}

/** The time, moving on while `ticking`; all clocks on a page share one timer. */
export function useNow(ticking = true): number {
  return useSyncExternalStore(ticking ? subscribe : idle, () => {
    // Before the timer runs the clock may be old; a step of 250 ms keeps the answer the same within a render.
    if (timer === undefined) now = Math.floor(Date.now() / 250) * 250;
    return now;
  });
}
