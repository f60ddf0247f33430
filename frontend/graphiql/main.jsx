// GraphiQL against a running server, for development. The API key of VITRINE_API_KEY stands in the Headers tab at first;
// subscriptions take it from there too.

import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import "./workers.js";
import "graphiql/style.css";
import { createClient } from "graphql-ws";
import { createRoot } from "react-dom/client";

const socketUrl = `${location.origin.replace(/^http/, "ws")}/graphql`;

const credentials = { authorization: `Bearer ${__API_KEY__}` };

/** Each subscription opens a socket with the headers that stand in the editor at that moment. */
function fetcher(params, options) {
  // The schema is asked for before the editor has its headers.
  const headers = { ...credentials, ...options?.headers };
  const wsClient = createClient({ url: socketUrl, lazy: true, connectionParams: headers });
  return createGraphiQLFetcher({ url: "/graphql", wsClient })(params, { ...options, headers });
}

const example = `# Welcome to Vitrine's API.
query Who {
  viewer {
    id
  }
}
`;

const headers = JSON.stringify(credentials, null, 2);

createRoot(document.getElementById("root")).render(
  <GraphiQL fetcher={fetcher} defaultQuery={example} initialHeaders={headers} defaultHeaders={headers} />,
);
