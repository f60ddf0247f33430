import { useCallback, useEffect, useState } from "react";
import { useQuery } from "urql";
import { useConnection } from "@/graphql/connection";
import { isSignedOut } from "@/graphql/faults";
import { onConnectionTrouble } from "@/graphql/socket";
import type { Viewer } from "./viewer";
import { ViewerQuery } from "./viewer.graphql";

/**
 * Who is signed in. The answer is asked for again when the live connection keeps failing, since the
 * session may have ended; a server that is merely away signs nobody out.
 */
export function useViewer() {
  const [{ data, error }, execute] = useQuery({ query: ViewerQuery });
  const [known, setKnown] = useState<Viewer | null>(null);
  const refetch = useCallback(() => execute({ requestPolicy: "network-only" }), [execute]);
  useEffect(() => onConnectionTrouble(refetch), [refetch]);

  const { state } = useConnection();
  const isUnknown = data === undefined && known === null;
  useEffect(() => {
    if (state === "live" && isUnknown) refetch();
  }, [state, isUnknown, refetch]);

  const current = data?.viewer ?? null;
  if (current !== null && current !== known) setKnown(current);
  return { viewer: current ?? known, isOut: isSignedOut(error) || data?.viewer === null, error, refetch };
}
