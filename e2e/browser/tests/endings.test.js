import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api } from "../harness/api.js";
import { launch, signedIn } from "../harness/browser.js";
import { assertNothingMissing, badge, card, runPath, stopButton, stream } from "../harness/runPage.js";
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

const details = (page) => page.getByRole("region", { name: "Details" });

test("Stop is reached and pressed by the keyboard alone, and the run is cancelled", async () => {
  const agent = await api.agent({ slug: "endless", scenario: "tools", tools: ["run_shell"] });
  const task = { texts: ["I will watch the clock."], calls: [[{ tool: "run_shell", arguments: { command: "while true; do date; sleep 0.2; done" } }]] };
  const id = await api.start(agent, JSON.stringify(task));
  const { page, complaints } = await signedIn(browser, server, runPath(id));
  await card(page, "run_shell").locator("pre").getByText("UTC").first().waitFor();
  await tabTo(page, stopButton(page));
  await page.keyboard.press("Enter");

  await badge(page, "Cancelled").waitFor();
  const receipt = page.getByRole("status", { name: "Receipt" });
  await receipt.getByText(/^Cancelled: 0 model calls and 1 tool call cut off, \$0\.\d+ charged in all/).waitFor();
  const outcome = page.getByLabel("Outcome");
  await outcome.getByText("Stopped by a person").waitFor();
  await details(page).getByText("Stopped by a person").waitFor();
  assert.match(await card(page, "run_shell").innerText(), /cancelled|interrupted/);
  assert.ok(await stopButton(page).isDisabled());
  const { status, stopReason } = await api.execution(id);
  assert.deepEqual([status, stopReason.code], ["CANCELLED", "CANCELLED"]);

  // Its receipt: what it cost is settled, and nothing is reserved any more.
  const meters = await page.getByRole("meter", { name: "Cost" }).getAttribute("aria-valuetext");
  assert.match(meters, /^<?\$0\.\d+/);
  assert.doesNotMatch(meters, /reserved/);
  await details(page).getByText("Cost", { exact: true }).waitFor();
  await assertNothingMissing(page, id);
  assert.deepEqual(complaints, []);
});

/** Goes from part to part with the Tab key; each must show where the focus is. */
async function tabTo(page, target) {
  await until("the focus reaches it", async () => {
    await page.keyboard.press("Tab");
    const focus = await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return { tag: document.activeElement.outerHTML.slice(0, 90), isVisible: outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 };
    });
    assert.ok(focus.isVisible, `the focus is seen on ${focus.tag}`);
    return target.evaluate((element) => element === document.activeElement);
  });
}

test("a failed run says why, and what to do", async () => {
  const agent = await api.agent({ slug: "failing", scenario: "fail" });
  const id = await api.start(agent, "status=400");
  const { page, complaints } = await signedIn(browser, server, runPath(id));
  await badge(page, "Failed").waitFor();
  const outcome = page.getByLabel("Outcome");
  await outcome.getByText("The model could not be reached or failed").waitFor();
  await outcome.getByText("400 Bad Request").waitFor();
  await outcome.getByText("at iteration 1").waitFor();
  await outcome.getByText("Check the model's address").waitFor();
  await stream(page).getByText("The model call failed: ").waitFor();
  await stream(page).getByRole("button", { name: "Details" }).click();
  await details(page).getByText("MODEL_REJECTED").waitFor();
  assert.deepEqual(complaints, []);
});

test("a run stopped by a limit names the limit, the step, and keeps its partial answer", async () => {
  const agent = await api.agent({ slug: "limited", scenario: "tools", limits: { maxIterations: 3 } });
  const calls = [1, 2, 3].map((number) => [{ tool: "note", arguments: { text: `note ${number}` } }]);
  const task = { calls, repeat: true, texts: ["The first part.", "The second part.", "The third part."] };
  const id = await api.start(agent, JSON.stringify(task));
  const { page, complaints } = await signedIn(browser, server, runPath(id));
  await badge(page, "Stopped: iterations").waitFor();
  const outcome = page.getByLabel("Outcome");
  await outcome.getByText("The limit of iterations was reached").waitFor();
  await outcome.getByText("limit 3 iterations · at iteration 3").waitFor();
  await outcome.getByText("Partial answer").waitFor();
  await outcome.getByText("The third part.").waitFor();
  await details(page).getByText("3 iterations", { exact: true }).waitFor();
  await assertNothingMissing(page, id);
  assert.deepEqual(complaints, []);
});

test("a run that does not exist, and one of a malformed id, are told apart from a fault", async () => {
  const { page } = await signedIn(browser, server, runPath("exe_01m8m6ah00000000000000000"));
  await page.getByRole("heading", { name: /no such run|cannot be shown/ }).waitFor();
  await page.goto(server.url + runPath("exe_01m8m6ah0000000000000000zz"));
  await page.getByRole("heading", { name: "There is no such run for you" }).waitFor();
  await page.getByRole("link", { name: "See the runs" }).click();
  await page.getByRole("row").first().waitFor();
});
