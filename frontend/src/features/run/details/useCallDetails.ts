import { useEffect, useRef } from "react";
import type { TypedDocumentNode } from "urql";
import { useQuery } from "urql";

/**
 * What only the API says of a call. Some of it is known while the call runs or when it ends, so it is asked for again
 * whenever `moment` is another one.
 */
export function useCallDetails<Data>(query: TypedDocumentNode<Data, { id: string }>, id: string, moment: string): Data | undefined {
  const [{ data }, ask] = useQuery({ query, variables: { id }, requestPolicy: "cache-and-network" });
  const asked = useRef(moment);
  useEffect(() => {
    if (asked.current === moment) return;
    asked.current = moment;
    ask({ requestPolicy: "network-only" });
  }, [ask, moment]);
  return data;
}
