/** Chromium, and pages that remember what they complained about. */
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

export const SCREEN = { width: 1440, height: 860 };
const PATIENCE_MS = 20_000;

export function launch() {
  const executablePath = process.env.CHROMIUM_BIN ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) throw new Error(`${executablePath} is not there: install chromium, or name it in CHROMIUM_BIN`);
  return chromium.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** A browser of a person: its own cookies, size and colour scheme. */
export async function newPerson(browser, options = {}) {
  const context = await browser.newContext({ viewport: SCREEN, colorScheme: "dark", locale: "en-GB", ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  await context.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (event) => console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`)),
  );
  const complaints = [];
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  context.on("weberror", (fault) => complaints.push(String(fault.error())));
  return { context, complaints, page: await context.newPage() };
}

/** A signed-in person, on the page at this path. */
export async function signedIn(browser, server, path = "/", options = {}) {
  const person = await newPerson(browser, options);
  await person.page.goto(await signInLink(server));
  await person.page.goto(server.url + path);
  return person;
}

/** A fresh one-time link, as the command line asks for one. */
export async function signInLink(server) {
  const response = await fetch(`${server.url}/studio/link`, { method: "POST", headers: { authorization: `Bearer ${server.apiKey}` } });
  if (!response.ok) throw new Error(`no link: ${response.status}`);
  return server.url + (await response.text());
}
