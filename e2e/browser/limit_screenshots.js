/**
 * Takes a picture of a run that ended at each kind of limit, of one in a loop, of one with an error item, and of the
 * costs of them all: `npm run limit-screenshots` writes `docs/images/limits`, or the folder behind `--`. Each is a real
 * run of a scripted model, and says so.
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Api } from "./harness/api.js";
import { launch, signedIn } from "./harness/browser.js";
import { runPath } from "./harness/runPage.js";
import { Server } from "./harness/server.js";

const folder = process.argv[2] ? resolve(process.argv[2]) : fileURLToPath(new URL("../../docs/images/limits", import.meta.url));
const VIEWPORT = { width: 1180, height: 560 };
const CHANGES = ["The start page takes files by drag and drop.", "Costs are shown by agent.", "A run can be cancelled while it waits.", "Prices come from a file.", "Logs resume without a gap."];
const NOTES = `Note each change since the last release. ${JSON.stringify({
  texts: CHANGES.map((change, index) => `Change ${index + 1}: ${change}`),
  calls: CHANGES.map((text) => [{ tool: "note", arguments: { text } }]),
})}`;
const LONG = `Write the history of the project. ${JSON.stringify({
  texts: ["In the beginning there was a single command, and it did one thing. ".repeat(12)],
  calls: [],
  piece_ms: 150,
})}`;
const shell = (command, rest = {}) => JSON.stringify({ calls: [[{ tool: "run_shell", arguments: { command } }]], repeat: true, ...rest });

/** The limits of each run, by the name of its picture. */
const RUNS = {
  iterations: { task: NOTES, limits: { maxIterations: 3 } },
  "model-calls": { task: NOTES, limits: { maxModelCalls: 2 } },
  "tool-calls": { task: NOTES, limits: { maxToolCalls: 2 } },
  tokens: { task: NOTES, limits: { maxTokens: "1200" } },
  cost: { task: NOTES, limits: { maxCostUsd: "0.0011" } },
  "active-time": { task: LONG, limits: { maxActiveTimeMs: "2500" } },
  deadline: { task: LONG, deadlineInMs: 4_000 },
  "tool-errors": {
    agent: "publisher",
    task: `Publish the package. ${shell("echo 'publish: no permission' >&2; exit 3", { texts: ["I will publish it.", "Once more."] })}`,
    limits: { maxErrorsPerTool: 2 },
  },
  loop: {
    agent: "publisher",
    task: `Wait for the build. ${shell("echo building", { texts: ["I will look at the build.", "And again.", "And again."] })}`,
    limits: {},
  },
  "error-item": { task: NOTES, limits: { maxCostUsd: "0.0011", onLimit: [{ limit: "COST", outcome: "ERROR_ITEM" }] } },
};

await mkdir(folder, { recursive: true });
const server = await Server.start();
const browser = await launch();
const api = new Api(server);
try {
  const agents = {
    writer: await api.agent({ slug: "release-notes", name: "Release notes writer", scenario: "tools", maxOutputTokens: 1_000 }),
    publisher: await api.agent({ slug: "publisher", name: "Publisher", scenario: "tools", tools: ["run_shell"] }),
  };
  const { page } = await signedIn(browser, server, "/", { viewport: VIEWPORT, colorScheme: "dark" });
  for (const [name, { agent = "writer", task, limits, deadlineInMs }] of Object.entries(RUNS)) {
    const deadlineAt = deadlineInMs ? new Date(Date.now() + deadlineInMs).toISOString() : null;
    const id = await api.start(agents[agent], task, { limits, deadlineAt });
    await page.goto(server.url + runPath(id));
    await page.getByLabel("Outcome").waitFor();
    await page.mouse.move(0, 0);
    await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
  }
  await page.goto(`${server.url}/costs?by=AGENT&span=month`);
  await page.getByRole("cell", { name: "Publisher" }).waitFor();
  await page.screenshot({ path: join(folder, "costs.png"), animations: "disabled" });
} finally {
  await browser.close();
  await server.stop();
}
