/**
 * Takes the pictures of the documents from real runs: `npm run screenshots` writes `docs/images`. With a folder behind
 * `--` it writes there, and more of them, to be looked at. What is scripted says so on the picture.
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Api } from "./harness/api.js";
import { launch, signedIn } from "./harness/browser.js";
import { badge, card, runPath } from "./harness/runPage.js";
import { Server } from "./harness/server.js";

const isToBeLookedAt = process.argv[2] !== undefined;
const folder = isToBeLookedAt ? resolve(process.argv[2]) : fileURLToPath(new URL("../../docs/images", import.meta.url));
await mkdir(folder, { recursive: true });
const shoot = ({ page }, name) => page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });

const server = await Server.start();
const browser = await launch();
const api = new Api(server);
try {
  const dark = await signedIn(browser, server, "/", { colorScheme: "dark" });
  const light = await signedIn(browser, server, "/", { colorScheme: "light" });
  await shootDemo(dark, light);
  const { failed, limited } = await otherRuns();
  await dark.page.goto(server.url);
  await dark.page.getByText("Stopped: iterations").waitFor();
  await dark.page.getByText("Cancelled", { exact: true }).nth(1).waitFor();
  await dark.page.getByRole("row").filter({ hasText: "Running" }).getByText(/^00:0[3-9]$/).waitFor();
  await shoot(dark, "runs-list");
  if (isToBeLookedAt) await shootEndings({ failed, limited }, dark, light);
} finally {
  await browser.close();
  await server.stop();
}

async function shootDemo(dark, light) {
  const demo = await server.demo();
  const both = { dark, light };
  const each = (act) => Promise.all(Object.entries(both).map(([theme, person]) => act(person, theme)));
  await each(({ page }) => page.goto(server.url + runPath(demo.id)));
  await each(async (person, theme) => {
    await card(person.page, "run_python").nth(1).getByText("unicode").waitFor();
    await shoot(person, `run-page-${theme}`);
  });
  await demo.ended;
  await each(async (person, theme) => {
    await badge(person.page, "Succeeded").waitFor();
    await person.page.getByRole("button", { name: "Show families.svg" }).locator("img").waitFor();
    await person.page.getByRole("button", { name: "Show families.svg" }).locator("img").evaluate((img) => img.decode());
    await person.page.mouse.move(0, 0);
    await shoot(person, `run-finished-${theme}`);
  });
}

async function shootEndings(runs, ...people) {
  for (const [name, id] of Object.entries(runs)) {
    for (const [index, person] of people.entries()) {
      await person.page.goto(server.url + runPath(id));
      await person.page.getByLabel("Outcome").waitFor();
      await shoot(person, `run-${name}-${index === 0 ? "dark" : "light"}`);
    }
  }
}

/** Runs in every state, of agents with a scenario of the scripted model. */
async function otherRuns() {
  const notes = await api.agent({ slug: "release-notes", name: "Release notes writer", scenario: "echo", limits: { maxCostUsd: "0.2" } });
  await api.start(notes, "Write the release notes of version 1.4 in three sentences.");
  const inbox = await api.agent({ slug: "inbox-sorter", name: "Inbox sorter", scenario: "fail", limits: { maxCostUsd: "0.2" } });
  const failed = await api.start(inbox, "Sort the inbox by customer; the provider answers with status=403 here.");
  const watcher = await api.agent({ slug: "log-watcher", name: "Log watcher", scenario: "tools", tools: ["run_shell"], limits: { maxIterations: 3, maxCostUsd: "0.2", maxTokens: "200000" } });
  const script = {
    texts: ["I will look at the free space first.", "Now at the processes that run.", "And at the newest files."],
    calls: [["df -h /workspace"], ["ps -o pid,comm"], ["ls -lt /workspace"]].map((commands) => commands.map((command) => ({ tool: "run_shell", arguments: { command } }))),
    repeat: true,
  };
  const limited = await api.start(watcher, `Watch the sandbox and report what changes. ${JSON.stringify(script)}`);
  const reporter = await api.agent({ slug: "licence-reporter", name: "Licence reporter", scenario: "burst", limits: { maxCostUsd: "0.2" } });
  const task = "List the licences of all dependencies and name those that need a notice. deltas=900 over_ms=90000 notes=180";
  const cancelled = await api.start(reporter, task);
  await api.mutate("executionCancel", "ExecutionCancelInput", "execution { id }", { executionId: cancelled });
  await api.start(reporter, task);
  return { failed, limited };
}
