/** A real `vitrine serve` with a data directory and a port of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "./until.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The binary under test; nothing is built here. */
export function binary() {
  const target = process.env.CARGO_TARGET_DIR ? resolve(ROOT, process.env.CARGO_TARGET_DIR) : join(ROOT, "target");
  const path = process.env.VITRINE_BIN ? resolve(process.env.VITRINE_BIN) : join(target, "debug", "vitrine");
  if (!existsSync(path)) throw new Error(`${path} is not there: build it with \`cargo build -p api\`, or name it in VITRINE_BIN`);
  return path;
}

/** The server refuses variables that it does not know, and a key in this shell must not reach a real model. */
function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITRINE|OPENAI)_/.test(name)));
}

export class Server {
  /** @type {import("node:child_process").ChildProcess} */
  #child;

  /** Starts a server on an empty data directory and waits until it is ready. */
  static async start() {
    const server = new Server();
    server.home = await mkdtemp(join(tmpdir(), "vitrine-browser-"));
    server.dataDir = join(server.home, "data");
    await server.#spawn(0);
    return server;
  }

  /** Starts it again on the same port and data directory. */
  async startAgain() {
    await this.#spawn(Number(new URL(this.url).port));
  }

  async #spawn(port) {
    const readyFile = join(this.home, "ready.json");
    await rm(readyFile, { force: true });
    const log = openSync(join(this.home, "server.log"), "a");
    const listen = `127.0.0.1:${port}`;
    const arguments_ = ["serve", "--data-dir", this.dataDir, "--listen", listen, "--ready-file", readyFile];
    this.#child = spawn(binary(), arguments_, { env: environment(), stdio: ["ignore", log, log] });
    const ready = await until("the server is ready", async () => {
      if (this.#child.exitCode !== null) throw new Error(`the server ended: ${await this.log()}`);
      return existsSync(readyFile) && JSON.parse(await readFile(readyFile, "utf8"));
    });
    this.url = ready.url;
    this.studio = ready.studio;
    this.apiKey ??= ready.apiKey;
  }

  log() {
    return readFile(join(this.home, "server.log"), "utf8");
  }

  /** Stops the clock of the process, as an overloaded machine or a cut network would. */
  freeze() {
    this.#child.kill("SIGSTOP");
  }

  thaw() {
    this.#child.kill("SIGCONT");
  }

  /** Ends the process without a warning. */
  async kill() {
    await this.#end("SIGKILL");
  }

  /** Stops the process in order and removes what it kept. */
  async stop() {
    await this.#end("SIGTERM");
    await rm(this.home, { recursive: true, force: true });
  }

  async #end(signal) {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill(signal);
    await exited;
  }

  /** Starts `vitrine demo`; returns the execution, and the promise of the command's exit status. */
  async demo() {
    const child = spawn(binary(), ["demo", "--data-dir", this.dataDir], { env: environment(), stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit").then(([status]) => status);
    let printed = "";
    child.stdout.on("data", (piece) => (printed += piece));
    const line = await until("the demo names its execution", () => /^Execution (\S+)\nStudio +(\S+)/m.exec(printed));
    return { id: line[1], link: line[2], ended };
  }
}
