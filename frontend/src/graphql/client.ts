import { Client, cacheExchange, fetchExchange, subscriptionExchange } from "urql";
import { socket } from "./socket";

/** Signs in by the session cookie alone: no token is ever in reach of a script. */
export const client = new Client({
  url: "/graphql",
  preferGetMethod: false,
  fetchOptions: { credentials: "same-origin" },
  exchanges: [
    cacheExchange,
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: (request) => ({
        subscribe: (sink) => ({
          unsubscribe: socket.subscribe({ query: request.query ?? "", variables: request.variables }, {
            next: (result) => sink.next(result as Parameters<typeof sink.next>[0]),
            error: (fault) => sink.error(fault),
            complete: () => sink.complete(),
          }),
        }),
      }),
    }),
  ],
});
