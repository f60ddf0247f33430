import { stringifyDocument } from "@urql/core";
import { useEffect, useRef, useState } from "react";
import { readFragment } from "@/graphql/generated";
import type { ExecutionEventsSubscription as Payload } from "@/graphql/generated/graphql";
import { socket } from "@/graphql/socket";
import { createFrameBatch } from "@/lib/frameBatch";
import { ExecutionEventsSubscription, RunEventFields } from "./model/events.graphql";
import { EMPTY_FOLD, foldEvents } from "./model/fold";
import type { RunEvent, RunView } from "./model/types";

const QUERY = stringifyDocument(ExecutionEventsSubscription);

export interface RunLog {
  view: RunView;
  /** Why the log cannot be followed; a lost connection is not among it, for that heals by itself. */
  problem: string | null;
}

/** Follows an execution's log: from its first event, and after each lost connection from the last folded one. */
export function useRunLog(executionId: string): RunLog {
  const fold = useRef(EMPTY_FOLD);
  const [view, setView] = useState(EMPTY_FOLD.view);
  const [problem, setProblem] = useState<string | null>(null);

  useEffect(() => {
    const batch = createFrameBatch<RunEvent>((events) => {
      fold.current = foldEvents(fold.current, events);
      setView(fold.current.view);
    });
    const variables = {
      executionId,
      // Read each time the client subscribes, so that a new connection goes on where the fold is.
      get after() {
        return fold.current.cursor;
      },
    };
    const unsubscribe = socket.subscribe<Payload>({ query: QUERY, variables }, {
      next: ({ data, errors }) => {
        if (data) batch.push(readFragment(RunEventFields, data.executionEvents));
        else setProblem(firstMessage(errors));
      },
      error: (fault) => setProblem(firstMessage(fault)),
      complete: () => {},
    });
    return () => {
      unsubscribe();
      batch.stop();
    };
  }, [executionId]);

  return { view, problem };
}

function firstMessage(fault: unknown): string {
  const first: unknown = Array.isArray(fault) ? fault[0] : fault;
  const message = (first as { message?: unknown } | undefined)?.message;
  return typeof message === "string" && message !== "" ? message : "The server ended the stream of events.";
}
