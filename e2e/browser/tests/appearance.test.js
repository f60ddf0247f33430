import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api } from "../harness/api.js";
import { launch, signedIn } from "../harness/browser.js";
import { badge, card, runPath, stopButton, stream } from "../harness/runPage.js";
import { clippedTexts, faintTexts } from "../harness/sight.js";
import { Server } from "../harness/server.js";

let server, browser, api, id;
before(async () => {
  server = await Server.start();
  browser = await launch();
  api = new Api(server);
  const agent = await api.agent({ slug: "colourful", scenario: "tools", tools: ["run_shell"], limits: { maxCostUsd: "0.4", maxIterations: 4 } });
  const print = "for i in 1 2 3 4 5 6 7; do printf '\\033[3%smcolour\\033[0m \\033[38;5;%smindexed\\033[0m\\n' $i $((i * 30)); done; ";
  const task = {
    texts: ["First, `ls` shows **what** is there.", "It failed."],
    calls: [[{ tool: "run_shell", arguments: { command: print } }], [{ tool: "run_shell", arguments: { command: `${print} echo trouble >&2; exit 3` } }]],
    answer: "# Done\n\nA [link](https://example.com), `code`, and a table:\n\n| a | b |\n|---|---:|\n| 1 | 2 |",
  };
  id = await api.start(agent, JSON.stringify(task));
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const colorScheme of ["dark", "light"]) {
  test(`every text is legible in ${colorScheme}, and none is cut off`, async () => {
    const { page, complaints } = await signedIn(browser, server, runPath(id), { colorScheme, reducedMotion: "reduce" });
    await badge(page, "Succeeded").waitFor();
    await card(page, "run_shell").nth(1).getByText("exit 3").waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.mantineColorScheme), colorScheme);
    assert.deepEqual(await faintTexts(page), []);
    assert.deepEqual(await clippedTexts(page), []);
    await page.goto(server.url);
    await page.getByRole("row").filter({ hasText: "colourful" }).waitFor();
    assert.deepEqual(await faintTexts(page), []);
    assert.deepEqual(complaints, []);
  });
}

test("the theme is chosen by a person and stays", async () => {
  const { page } = await signedIn(browser, server, "/", { colorScheme: "dark" });
  await page.getByRole("button", { name: "Theme" }).click();
  await page.getByRole("menuitem", { name: "Light" }).click();
  const theme = () => page.evaluate(() => document.documentElement.dataset.mantineColorScheme);
  assert.equal(await theme(), "light");
  await page.reload();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  assert.equal(await theme(), "light");
});

test("on a narrow screen the panes are tabs, nothing is wider than the screen, and Stop is in reach", async () => {
  const { page, complaints } = await signedIn(browser, server, runPath(id), { viewport: { width: 390, height: 844 } });
  await stream(page).getByRole("heading", { name: "Done" }).first().waitFor();
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.equal(await overflow(), 0);
  const stop = await stopButton(page).boundingBox();
  assert.ok(stop.x >= 0 && stop.x + stop.width <= 390 && stop.y < 100, JSON.stringify(stop));
  await page.getByRole("tab", { name: "Steps" }).click();
  await page.getByRole("button", { name: /run_shell/ }).first().click();
  await page.getByRole("tab", { name: "Details", selected: true }).waitFor();
  await page.getByText("Fingerprint").waitFor();
  assert.equal(await overflow(), 0);
  assert.deepEqual(await clippedTexts(page), []);
  await page.goto(server.url);
  await page.getByRole("row").filter({ hasText: "colourful" }).waitFor();
  assert.equal(await overflow(), 0);
  assert.deepEqual(complaints, []);
});

test("widths of the panes are changed by the keyboard and remembered", async () => {
  const { page } = await signedIn(browser, server, runPath(id));
  const separator = page.getByRole("separator", { name: "Width of the steps" });
  await separator.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await separator.getAttribute("aria-valuenow"), "304");
  await page.reload();
  assert.equal(await separator.getAttribute("aria-valuenow"), "304");
});
