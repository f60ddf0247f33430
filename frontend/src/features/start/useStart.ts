import { useRef, useState } from "react";
import { useMutation } from "urql";
import { useLocation } from "wouter";
import { explainFault } from "@/graphql/faults";
import { FORM_FIELD, faultsFromServer, faultsOf, toInput } from "./model/draft";
import type { FieldFaults, StartDraft } from "./model/draft";
import { ExecutionStartMutation } from "./start.graphql";

/**
 * Starts a run. The key stays the same while the same draft is tried again, so that an answer that
 * got lost on its way never starts a second run; a changed draft is another wish and gets a new key.
 */
export function useStart() {
  const [{ fetching }, start] = useMutation(ExecutionStartMutation);
  const [faults, setFaults] = useState<FieldFaults>({});
  const attempt = useRef<{ draft: StartDraft; agentId: string; key: string } | null>(null);
  const [, navigate] = useLocation();

  async function submit(draft: StartDraft, agentId: string | null) {
    const found = faultsOf(draft, agentId);
    setFaults(found);
    if (agentId === null || Object.keys(found).length > 0) return;
    const last = attempt.current;
    const isRetry = last !== null && last.draft === draft && last.agentId === agentId;
    const key = isRetry ? last.key : freshKey();
    attempt.current = { draft, agentId, key };
    const { data, error } = await start({ input: toInput(draft, agentId, key) });
    const execution = data?.executionStart.execution;
    if (execution) navigate(`/runs/${execution.id}`);
    else if (error) setFaults({ [FORM_FIELD]: `${explainFault(error)} Trying again cannot start it twice.` });
    else setFaults(faultsFromServer(data?.executionStart.userErrors ?? []));
  }

  return { submit, faults, fetching };
}

/** crypto.randomUUID exists on secure origins only; a server on the local network may not be one. */
function freshKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
