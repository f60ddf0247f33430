import { useSyncExternalStore } from "react";

const TICK_MS = 250;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: number | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    now = Date.now();
    for (const notify of listeners) notify();
  }, TICK_MS);
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

/**
 * The time, moving on in steps while `ticking`; all clocks on a page share one timer, and a clock
 * with larger steps renders less often.
 */
export function useNow(ticking = true, stepMs = TICK_MS): number {
  return useSyncExternalStore(ticking ? subscribe : idle, () => {
    // Before the timer runs the clock may be old; whole steps keep the answer the same within a render.
    if (timer === undefined) now = Date.now();
    return Math.floor(now / stepMs) * stepMs;
  });
}
