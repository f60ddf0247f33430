import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api } from "../harness/api.js";
import { launch, signedIn } from "../harness/browser.js";
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
  await server?.stop();
});

test("the list follows runs by itself, from their start to their end", async () => {
  const { page, complaints } = await signedIn(browser, server);
  await page.getByRole("heading", { name: "No runs yet" }).waitFor();

  const agent = await api.agent({ slug: "writer", name: "Writer", scenario: "burst" });
  await api.start(agent, "deltas=150 over_ms=2500 notes=4");
  const row = page.getByRole("row").filter({ hasText: "Writer" });
  await row.getByText("Running", { exact: true }).waitFor();
  const tokens = row.getByRole("cell").nth(4);
  const before = await tokens.innerText();
  await until("the tokens grow while it runs", async () => (await tokens.innerText()) !== before);
  await row.getByText("Succeeded", { exact: true }).waitFor();

  await page.getByRole("radiogroup").getByText("Failed").click();
  await page.getByRole("heading", { name: "No failed runs" }).waitFor();
  const failing = await api.agent({ slug: "failing", name: "Failing", scenario: "fail" });
  await api.start(failing, "status=400");
  await page.getByRole("row").filter({ hasText: "Failing" }).getByText("Failed", { exact: true }).waitFor();

  await page.getByRole("link", { name: "Failing" }).click();
  await page.getByText("The model could not be reached or failed").first().waitFor();
  assert.deepEqual(complaints, []);
});

test("a run is started from the form and watched", async () => {
  await api.agent({ slug: "echoing", name: "Echoing", scenario: "echo" });
  const { page, complaints } = await signedIn(browser, server, "/start");
  await page.getByRole("combobox", { name: "Agent" }).click();
  await page.getByRole("option", { name: "Echoing" }).click();
  await page.getByRole("textbox", { name: "Task" }).fill("Say these very words.");
  await page.getByRole("button", { name: /start/i }).click();
  await page.getByLabel("Outcome").getByText("Say these very words.").waitFor();
  assert.match(page.url(), /\/runs\/exe_/);
  assert.deepEqual(complaints, []);
});
