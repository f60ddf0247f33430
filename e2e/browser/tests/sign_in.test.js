import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, newPerson, signInLink } from "../harness/browser.js";
import { Server } from "../harness/server.js";

let server, browser;
before(async () => {
  server = await Server.start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("a link signs one browser in, once", async () => {
  const first = await newPerson(browser);
  await first.page.goto(server.studio);
  await first.page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  assert.ok(!first.page.url().includes("code="), "the code does not stay in the address");
  const [cookie] = await first.context.cookies();
  assert.equal(cookie.name, "vitrine_session");
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
  assert.deepEqual(first.complaints, []);

  const second = await newPerson(browser);
  await second.page.goto(server.studio);
  await second.page.getByRole("heading", { name: "You are signed out" }).waitFor();
  assert.deepEqual(await second.context.cookies(), []);
});

test("a stranger sees how to sign in, on every page, and nothing else", async () => {
  const { page, context } = await newPerson(browser);
  for (const path of ["/", "/runs/exe_00000000000000000000000000", "/resources"]) {
    await page.goto(server.url + path);
    await page.getByText("vitrine studio-link").waitFor();
    assert.equal(await page.getByRole("link", { name: "Runs", exact: true }).count(), 0);
  }
  assert.deepEqual(await context.cookies(), []);
});

test("a fresh link leads to the page it names, and to no other site", async () => {
  const { page } = await newPerson(browser);
  await page.goto(`${await signInLink(server)}&next=/resources`);
  await page.getByRole("heading", { name: "Resources" }).waitFor();
  await page.goto(`${await signInLink(server)}&next=//example.invalid/`);
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  assert.equal(new URL(page.url()).origin, server.url);
});
