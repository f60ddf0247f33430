/** What the cards of tool calls show: what a call is about, and where the rest of its output is. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api } from "../harness/api.js";
import { launch, signedIn } from "../harness/browser.js";
import { badge, card, runPath } from "../harness/runPage.js";
import { Server } from "../harness/server.js";

let server, browser, api;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  api = new Api(server);
});
after(() => Promise.all([server?.stop(), browser?.close()]));

const TOOLS = ["run_shell", "run_python", "read_file", "write_file", "edit_file", "list_files", "glob", "grep"];

async function run(calls, rest = {}) {
  const agent = await api.agent({ slug: `worker-${crypto.randomUUID().slice(0, 8)}`, scenario: "tools", tools: TOOLS, ...rest });
  const id = await api.start(agent, JSON.stringify({ calls: calls.map((call) => [call]), answer: "done" }));
  const person = await signedIn(browser, server, runPath(id));
  await badge(person.page, "Succeeded").waitFor();
  return person.page;
}

test("a card names the file or the pattern that a call is about", async () => {
  const page = await run([
    { tool: "write_file", arguments: { path: "src/main.py", content: "print('one')\n" } },
    { tool: "edit_file", arguments: { path: "src/main.py", old_text: "one", new_text: "two" } },
    { tool: "read_file", arguments: { path: "src/main.py", start_line: 1, end_line: 1 } },
    { tool: "glob", arguments: { pattern: "**/*.py" } },
    { tool: "grep", arguments: { pattern: "two", path: "src" } },
    { tool: "list_files", arguments: {} },
  ]);
  await card(page, "edit_file").getByText("+print('two')").waitFor();
  await card(page, "read_file").getByText("src/main.py lines 1–1").waitFor();
  await card(page, "glob").getByText("**/*.py").waitFor();
  await card(page, "grep").getByText("src/main.py:1:print('two')").waitFor();
  await card(page, "list_files").getByText("/workspace", { exact: true }).waitFor();
});

test("what the log left out, and bytes that are no text, are a click away", async () => {
  const page = await run([
    { tool: "run_shell", arguments: { command: "seq 1 200000" } },
    { tool: "run_python", arguments: { code: "import sys; sys.stdout.buffer.write(b'he\\xff\\x00lo')" } },
  ]);
  await card(page, "run_shell").getByRole("button", { name: "See the whole output" }).click();
  const modal = page.getByRole("dialog");
  const link = modal.getByRole("link", { name: "Download" });
  const whole = await page.request.get(new URL(await link.getAttribute("href"), server.url).href);
  assert.ok((await whole.text()).endsWith("\n199999\n200000\n"));
  await page.keyboard.press("Escape");
  await modal.waitFor({ state: "detached" });
  await card(page, "run_python").getByRole("button", { name: /^Bytes of stdout as they were/ }).click();
  const bytes = await page.request.get(new URL(await link.getAttribute("href"), server.url).href);
  assert.deepEqual([...(await bytes.body())], [0x68, 0x65, 0xff, 0x00, 0x6c, 0x6f]);
});

test("a card says that a program was kept from a host, and the details from which", async () => {
  const sandboxProfileId = await api.sandboxProfile("one-host", { network: "HOSTS", networkHosts: ["files.example.org"] });
  const page = await run([{ tool: "run_shell", arguments: { command: "curl -sS -m 5 https://elsewhere.example.net/ || true" } }], { sandboxProfileId });
  await card(page, "run_shell").getByText("1 host denied").waitFor();
  await card(page, "run_shell").getByRole("button", { name: "Details of run_shell" }).click();
  await page.getByLabel("Network attempts").getByText("elsewhere.example.net:443").waitFor();
});

test("the details of a call that began under the eyes have its sandbox in the end", async () => {
  const agent = await api.agent({ slug: "sleeper", scenario: "tools", tools: TOOLS });
  const id = await api.start(agent, JSON.stringify({ calls: [[{ tool: "run_shell", arguments: { command: "sleep 1" } }]], answer: "done" }));
  const { page } = await signedIn(browser, server, runPath(id));
  await card(page, "run_shell").getByRole("button", { name: "Details of run_shell" }).click();
  await badge(page, "Succeeded").waitFor();
  await page.getByRole("region", { name: "Details" }).getByText("Processes").waitFor();
});
