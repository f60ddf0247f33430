/** Reads an execution's whole log over a socket of its own, apart from the code under test. */

const DOCUMENT = "subscription L($id: ID!) { executionEvents(executionId: $id) { __typename sequence payload } }";

/** The events of an execution that has ended, or will: the subscription completes behind the last one. */
export async function wholeLog(page, id) {
  return page.evaluate(readLog, { id, query: DOCUMENT });
}

/** Runs in the page, whose session opens the socket. */
function readLog({ id, query }) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${location.origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    const send = (message) => socket.send(JSON.stringify(message));
    const events = [];
    socket.addEventListener("open", () => send({ type: "connection_init" }));
    socket.addEventListener("error", () => reject(new Error("the socket failed")));
    socket.addEventListener("message", ({ data }) => {
      const { type, payload } = JSON.parse(data);
      if (type === "connection_ack") send({ id: "1", type: "subscribe", payload: { query, variables: { id } } });
      if (type === "ping") send({ type: "pong" });
      if (type === "next" && payload.errors) reject(new Error(JSON.stringify(payload.errors)));
      else if (type === "next") events.push(payload.data.executionEvents);
      if (type === "error") reject(new Error(JSON.stringify(payload)));
      if (type === "complete") {
        socket.close();
        resolve(events);
      }
    });
  });
}
