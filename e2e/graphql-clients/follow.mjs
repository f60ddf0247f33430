// Follows one execution with the official client, is cut at given places, and resumes from its cursor.
//
// Reads {url, apiKey, execution, cutAt} as JSON from standard input; prints a line of JSON for each event, and at the
// end one with the number of connections that were acknowledged.
import { text } from "node:stream/consumers";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";

const { url, apiKey, execution, cutAt } = JSON.parse(await text(process.stdin));
const query = `subscription F($id: ID!, $after: String) {
  executionEvents(executionId: $id, after: $after) { sequence cursor payload }
}`;

let socket;
let connections = 0;
const client = createClient({
  url,
  webSocketImpl: WebSocket,
  connectionParams: { authorization: `Bearer ${apiKey}` },
  lazy: true,
  retryAttempts: 20,
  retryWait: () => new Promise((resolve) => setTimeout(resolve, 10)),
  on: {
    connected: (connected) => {
      socket = connected;
      connections += 1;
    },
  },
});

// The client subscribes again by itself after a cut and asks for the variables anew: they hold the newest cursor.
let cursor = null;
const variables = {
  id: execution,
  get after() {
    return cursor;
  },
};
const cuts = new Set(cutAt.map(String));

await new Promise((resolve, reject) => {
  client.subscribe(
    { query, variables },
    {
      next: ({ data, errors }) => {
        if (errors) return reject(new Error(JSON.stringify(errors)));
        const event = data.executionEvents;
        // What a dead socket still hands out is not taken: a client that is cut has not read it.
        if (socket === null) return undefined;
        cursor = event.cursor;
        process.stdout.write(`${JSON.stringify({ sequence: event.sequence, payload: event.payload })}\n`);
        if (cuts.delete(event.sequence)) {
          socket.terminate();
          socket = null;
        }
        return undefined;
      },
      error: (error) => reject(error instanceof Error ? error : new Error(JSON.stringify(error))),
      complete: resolve,
    },
  );
});
process.stdout.write(`${JSON.stringify({ connections })}\n`);
await client.dispose();
