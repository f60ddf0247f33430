/**
 * The one WebSocket of the page. It stays open, finds a dead peer by its own pings, and comes back
 * by itself: subscriptions on it survive, and those that read a log go on from their cursor.
 */
import { createClient } from "graphql-ws";
import { isConnected, setConnection } from "./connection";

const PING_EVERY_MS = 10_000;
const PONG_WITHIN_MS = 5_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

let pongTimer: number | undefined;
const failureListeners = new Set<() => void>();

/** Called after repeated failures to connect: the session may have ended. */
export function onConnectionTrouble(listener: () => void): () => void {
  failureListeners.add(listener);
  return () => failureListeners.delete(listener);
}

export const socket = createClient({
  url: `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/graphql`,
  lazy: false,
  keepAlive: PING_EVERY_MS,
  retryAttempts: Number.POSITIVE_INFINITY,
  shouldRetry: () => true,
  retryWait: waitForTurn,
  on: {
    connected: () => setConnection({ state: "live" }),
    closed: () => {
      window.clearTimeout(pongTimer);
      // A failed attempt closes its socket after the wait for the next one has begun.
      if (isConnected()) setConnection(navigator.onLine ? { state: "reconnecting", retryAt: null } : { state: "offline" });
    },
    ping: (received) => {
      if (!received) pongTimer = window.setTimeout(() => socket.terminate(), PONG_WITHIN_MS);
    },
    pong: (received) => {
      if (received) window.clearTimeout(pongTimer);
    },
  },
});

window.addEventListener("offline", () => {
  setConnection({ state: "offline" });
  socket.terminate();
});

async function waitForTurn(retries: number): Promise<void> {
  if (retries >= 1) for (const notify of failureListeners) notify();
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** retries) * (0.8 + Math.random() * 0.4);
  setConnection(navigator.onLine ? { state: "reconnecting", retryAt: Date.now() + wait } : { state: "offline" });
  await new Promise<void>((resolve) => {
    const go = () => {
      window.clearTimeout(timer);
      window.removeEventListener("online", go);
      resolve();
    };
    const timer = window.setTimeout(go, wait);
    window.addEventListener("online", go);
  });
  if (navigator.onLine) setConnection({ state: "reconnecting", retryAt: null });
}
