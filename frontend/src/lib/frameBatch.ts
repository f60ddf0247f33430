/** Collects what arrives within one frame, so that a burst costs one rendering. */
export interface FrameBatch<T> {
  push(item: T): void;
  /** Drops what waits; nothing is handed over afterwards. */
  stop(): void;
}

const HIDDEN_INTERVAL_MS = 250;

export function createFrameBatch<T>(handOver: (items: T[]) => void): FrameBatch<T> {
  let waiting: T[] = [];
  let cancel: (() => void) | null = null;

  function flush() {
    cancel = null;
    const items = waiting;
    waiting = [];
    handOver(items);
  }

  return {
    push(item) {
      waiting.push(item);
      cancel ??= schedule(flush);
    },
    stop() {
      cancel?.();
      cancel = null;
      waiting = [];
    },
  };
}

/** A hidden page gets no frames, but its log must not pile up unread. */
function schedule(flush: () => void): () => void {
  if (document.hidden) {
    const timer = window.setTimeout(flush, HIDDEN_INTERVAL_MS);
    return () => window.clearTimeout(timer);
  }
  const frame = requestAnimationFrame(flush);
  return () => cancelAnimationFrame(frame);
}
