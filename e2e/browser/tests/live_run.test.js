import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { Api } from "../harness/api.js";
import { launch, signedIn } from "../harness/browser.js";
import { recorded, startRecorder } from "../harness/recorder.js";
import { assertNothingMissing, badge, card, pill, runPath, stream } from "../harness/runPage.js";
import { Server } from "../harness/server.js";

let server, browser, api, demo, person;
before(async () => {
  server = await Server.start();
  browser = await launch();
  api = new Api(server);
  person = await signedIn(browser, server);
  demo = await server.demo();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("the demo is seen as it happens: text, tools, output in colours, meters, the end", async () => {
  const { page, complaints } = person;
  await page.goto(server.url + runPath(demo.id));
  await startRecorder(page);
  await badge(page, "Running").waitFor();
  await pill(page, "Live").waitFor();
  await page.getByText("scripted model").waitFor();

  await stream(page).getByText("I will audit").waitFor();
  const failed = card(page, "run_python").nth(0);
  await failed.getByText("exit 1").waitFor();
  await failed.getByText("KeyError: 'source'").waitFor();
  const repaired = card(page, "run_python").nth(1);
  await repaired.getByText("The largest of").waitFor();
  await repaired.getByText("async").waitFor();
  const colours = await repaired.locator("pre span").evaluateAll((spans) => spans.map((span) => getComputedStyle(span).color));
  assert.ok(new Set(colours).size >= 5, `the bars have colours of their own: ${colours}`);

  assert.equal(await demo.ended, 0);
  await badge(page, "Succeeded").waitFor();
  const outcome = page.getByLabel("Outcome");
  await outcome.getByText("The agent gave its final answer").waitFor();
  await card(page, "run_shell").waitFor();

  const seen = await recorded(page);
  assert.ok(new Set(seen.textLengths).size >= 5, `the text came in pieces: ${seen.textLengths}`);
  assert.deepEqual(seen.textLengths, seen.textLengths.toSorted((a, b) => a - b));
  for (const [name, parts] of Object.entries(seen.meters)) {
    assert.deepEqual(parts, parts.toSorted((a, b) => a - b), `${name} never moves backwards`);
    assert.ok(parts.length >= 3 && parts.at(-1) > 0, `${name} moves: ${parts}`);
  }
  assert.deepEqual(Object.keys(seen.meters), ["Cost", "Tokens", "Active time", "Iterations"]);
  assert.ok(seen.hatched, "what is reserved is hatched");
  assert.equal(seen.stopPlaces.length, 1, `Stop never moves: ${seen.stopPlaces.join(" then ")}`);
  assert.ok(seen.artifactsWhileRunning, "artifacts appear while it runs");
  assert.deepEqual(complaints, []);
});

test("what the page shows at the end is the whole log", async () => {
  const { answer } = await api.execution(demo.id);
  const { page } = person;
  await assertNothingMissing(page, demo.id);
  const packages = /\| Packages \| (\d+) \|/.exec(answer)[1];
  const row = page.getByLabel("Outcome").getByRole("row").filter({ has: page.getByRole("cell", { name: "Packages", exact: true }) });
  assert.equal(await row.getByRole("cell").nth(1).innerText(), packages);
});

test("a table and a picture are previewed, and saved byte for byte", async () => {
  const { page, complaints } = person;
  const { artifacts } = await api.execution(demo.id);
  const stored = Object.fromEntries(await Promise.all(artifacts.map(async ({ name, downloadUrl }) => [name, Buffer.from(await (await fetch(new URL(downloadUrl, server.url))).arrayBuffer())])));
  const open = (name) => page.getByLabel("Outcome").getByRole("button", { name: new RegExp(name) }).click();
  const dialog = page.getByRole("dialog");

  await open("duplicates.csv");
  const [head, ...rows] = stored["duplicates.csv"].toString().trim().split(/\r?\n/);
  await dialog.getByRole("columnheader", { name: "versions" }).waitFor();
  assert.deepEqual(await dialog.getByRole("columnheader").allInnerTexts(), head.split(","));
  assert.equal(await dialog.getByRole("row").count(), rows.length + 1);
  await saved(page, dialog, "duplicates.csv", stored);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await open("families.svg");
  const picture = dialog.getByRole("img", { name: "families.svg" });
  await picture.waitFor();
  assert.ok(await picture.evaluate(async (img) => (await img.decode(), img.naturalWidth > 0)), "the picture is drawn");
  assert.equal(await dialog.locator("svg text").count(), 0, "what an agent drew is no part of the page");
  await saved(page, dialog, "families.svg", stored);
  await page.keyboard.press("Escape");
  assert.deepEqual(complaints, []);
});

async function saved(page, dialog, name, stored) {
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("link", { name: "Download" }).click()]);
  assert.equal(download.suggestedFilename(), name);
  assert.deepEqual(await readFile(await download.path()), stored[name]);
}

test("the terminal shows the output up to its last line, and back to its first", async () => {
  const { page, complaints } = person;
  await card(page, "run_python").nth(1).getByRole("button", { name: /Open terminal/ }).click();
  const terminal = page.getByRole("log");
  const rows = terminal.locator(".xterm-rows");
  await rows.getByText("AUDIT_RESULT").waitFor();
  const [text, box] = [await rows.boundingBox(), await terminal.boundingBox()];
  assert.ok(text.x + text.width <= box.x + box.width, "no line runs out of the box");
  await page.keyboard.press("Home");
  await rows.getByText("Reading inputs/Cargo.lock").waitFor();
  await page.keyboard.press("Escape");
  await terminal.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});
