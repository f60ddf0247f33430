import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api } from "../harness/api.js";
import { launch, signedIn } from "../harness/browser.js";
import { assertNothingMissing, badge, deltasOnPage, pill, runPath, stream } from "../harness/runPage.js";
import { Server } from "../harness/server.js";
import { until } from "../harness/until.js";

let server, browser, api;
before(async () => {
  server = await Server.start();
  browser = await launch();
  api = new Api(server);
});
after(async () => {
  await browser?.close();
  server?.thaw();
  await server?.stop();
});

const numbers = (count) => Array.from({ length: count }, (_, number) => number);

test("a reload in the middle misses nothing, neither of the text nor of the output", async () => {
  const agent = await api.agent({ slug: "reloaded", scenario: "tools", tools: ["note", "run_shell"] });
  const shell = "for i in $(seq 1 30); do printf '\\033[3%smline %s\\033[0m\\n' $((i % 7 + 1)) $i; sleep 0.1; done";
  const text = numbers(60).map((number) => `w${number}`).join(" ");
  const task = { calls: [[{ tool: "run_shell", arguments: { command: shell } }]], texts: [text, text], answer: text, piece_ms: 40 };
  const id = await api.start(agent, JSON.stringify(task));
  const { page, complaints } = await signedIn(browser, server, runPath(id));

  await stream(page).getByText("w20").first().waitFor();
  await page.reload();
  await stream(page).getByText("w0 w1").first().waitFor();
  await stream(page).getByText("line 10", { exact: true }).waitFor();
  await page.reload();
  await stream(page).getByText("line 20", { exact: true }).waitFor();
  await badge(page, "Succeeded").waitFor();
  await assertNothingMissing(page, id);
  assert.deepEqual(complaints, []);
});

test("after a crash of the server the page goes on where it was, with nothing missing or twice", async () => {
  const agent = await api.agent({ slug: "crashing", scenario: "burst" });
  const id = await api.start(agent, "deltas=240 over_ms=8000 notes=5");
  const { page, complaints } = await signedIn(browser, server, runPath(id));
  await stream(page).getByText(/\bd60\b/).waitFor();
  assert.deepEqual(complaints.splice(0), []);

  await server.kill();
  await pill(page, "Reconnecting").waitFor();
  await stream(page).getByText(/\bd60\b/).waitFor();
  await server.startAgain();
  await pill(page, "Live").waitFor();
  await badge(page, "Succeeded").waitFor({ timeout: 40_000 });

  await page.getByText(/took over|attempt/i).first().waitFor();
  assert.deepEqual(await deltasOnPage(page), numbers(240));
  await assertNothingMissing(page, id);
  assertOnlyCutConnections(complaints);
});

test("while the server hangs the page says so, and goes on by itself", async () => {
  const agent = await api.agent({ slug: "hanging", scenario: "burst" });
  const id = await api.start(agent, "deltas=120 over_ms=4000 notes=2");
  const { page, complaints } = await signedIn(browser, server, runPath(id));
  await stream(page).getByText(/\bd20\b/).waitFor();
  server.freeze();
  await pill(page, "Reconnecting").waitFor({ timeout: 30_000 });
  server.thaw();
  await pill(page, "Live").waitFor();
  await badge(page, "Succeeded").waitFor({ timeout: 40_000 });
  await until("every delta stands there", async () => (await deltasOnPage(page)).length >= 120);
  assert.deepEqual(await deltasOnPage(page), numbers(120));
  await assertNothingMissing(page, id);
  assertOnlyCutConnections(complaints);
});

/** The browser itself reports each attempt at a server that is away. */
function assertOnlyCutConnections(complaints) {
  const others = complaints.filter((text) => !/WebSocket connection to|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/.test(text));
  assert.deepEqual(others, []);
}
