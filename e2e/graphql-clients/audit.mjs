// Runs the audits of the official GraphQL-over-HTTP suite against a server. Reads { url, apiKey } as JSON from the standard
// input and writes one line of JSON for each audit: { id, name, status, reason }.

import { text } from "node:stream/consumers";
import { auditServer } from "graphql-http";

const { url, apiKey } = JSON.parse(await text(process.stdin));

const results = await auditServer({
  url,
  fetchFn: (target, options = {}) =>
    fetch(target, { ...options, headers: { ...options.headers, authorization: `Bearer ${apiKey}` } }),
});

for (const { id, name, status, reason } of results) {
  console.log(JSON.stringify({ id, name, status, reason }));
}
