/**
 * The state of the live connection, for the pill in the header and for whoever must know that
 * the screen may be behind.
 */
import { useSyncExternalStore } from "react";

export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "reconnecting"; retryAt: number | null }
  | { state: "offline" };

let current: Connection = { state: "connecting" };
const listeners = new Set<() => void>();

export function setConnection(next: Connection): void {
  current = next;
  for (const notify of listeners) notify();
}

export function isConnected(): boolean {
  return current.state === "live";
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
