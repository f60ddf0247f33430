/** Reads an execution's whole log over a socket of its own, apart from the code under test. */

const DOCUMENT = `subscription L($id: ID!) { executionEvents(executionId: $id) { __typename sequence
  ... on NodeAttemptStarted { attempt supersedesFrom }
  ... on ModelCallStarted { modelCallId }
  ... on ModelCallDelta { modelCallId text }
  ... on ToolCallStarted { toolCallId tool }
  ... on SandboxOutput { toolCallId text }
  ... on ArtifactCreated { name } } }`;

/** The events of an execution that has ended, or will: the subscription completes behind the last one. */
export async function wholeLog(page, id) {
  const events = await page.evaluate(readLog, { id, query: DOCUMENT });
  events.forEach((event, index) => {
    if (Number(event.sequence) !== index + 1) throw new Error(`the log has ${event.sequence} in place ${index + 1}`);
  });
  return events;
}

/** What counts of a log: a new attempt supersedes what its predecessor left open. */
export function whatCounts(events) {
  return events.reduce((log, event) => {
    const from = event.__typename === "NodeAttemptStarted" ? event.supersedesFrom : null;
    return [...(from === null ? log : log.filter(({ sequence }) => Number(sequence) < Number(from))), event];
  }, []);
}

/** The joined texts of each call that wrote any, by the call's id. */
export function textsByCall(events, typename, idField) {
  const texts = new Map();
  for (const event of whatCounts(events)) {
    if (event.__typename === typename) texts.set(event[idField], (texts.get(event[idField]) ?? "") + event.text);
  }
  return texts;
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
