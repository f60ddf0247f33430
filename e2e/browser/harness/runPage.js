/** The run page as a person sees it. */
import assert from "node:assert/strict";
import { textsByCall, wholeLog } from "./log.js";

export const runPath = (id) => `/runs/${id}`;

export const pill = (page, word) => page.getByRole("status").filter({ hasText: word });

/** The run's status in the header: icon, word and colour. */
export const badge = (page, word) => page.locator("header").getByText(word, { exact: true });

export const stopButton = (page) => page.getByRole("button", { name: /^Stop/ });

export const card = (page, tool) => page.getByRole("article", { name: `Tool call ${tool}` });

export const stream = (page) => page.getByLabel("What the run does");

/**
 * Compares everything that the models wrote and the tools printed with the log, read anew and whole. Rendering takes
 * the signs of Markdown away, so letters and digits are compared, in their order.
 */
export async function assertNothingMissing(page, id) {
  const events = await wholeLog(page, id);
  const said = textsByCall(events, "ModelCallDelta", "modelCallId");
  assert.ok(said.size > 0, "no model wrote anything");
  for (const [call, text] of said) assert.equal(essence(await shown(page, call)), essence(text), `text of ${call}`);
  const printed = textsByCall(events, "SandboxOutput", "toolCallId");
  for (const [call, text] of printed) {
    const lines = await page.locator(`[id="${call}"] pre`).innerText();
    assert.equal(essence(lines), essence(lastLines(text)), `output of ${call}`);
  }
  return events;
}

async function shown(page, call) {
  const parts = page.locator(`[id="${call}"]`);
  assert.equal(await parts.count(), 1, `${call} stands on the page once`);
  return parts.innerText();
}

function essence(text) {
  return text.replace(/[^\p{L}\p{N}]/gu, "");
}

const LINES_ON_A_CARD = 12;

function lastLines(text) {
  return text.replace(/\u001b\[[0-9;]*m/g, "").trimEnd().split("\n").slice(-LINES_ON_A_CARD).join("\n");
}

/** The deltas of the scenario `burst` that the page shows, in order. */
export async function deltasOnPage(page) {
  const texts = await page.locator('section[aria-label^="Iteration "] [id^="mcl_"]').allInnerTexts();
  return [...texts.join(" ").matchAll(/\bd(\d+)/g)].map(([, number]) => Number(number));
}
