// The driver of the official JavaScript SDK.
//
// Rule: a driver reports what its client gave and judges nothing. ../README.md has the vocabulary.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import {
  ConnectionConfig,
  InvalidArgumentException,
  Sandbox,
  SandboxApiException,
  SandboxError,
  SandboxException,
  SandboxManager,
} from "@alibaba-group/opensandbox";

const CLIENT_KEY = "differential.client";
const LABEL_KEY = "vitrine.sandbox";
const FINISHED_WITHIN_MS = 20_000;
const POLL_MS = 50;
const SHOWN_BYTES = 256;
const PIECE_BYTES = 1 << 20;

class Unsupported extends Error {}

const plan = JSON.parse(readFileSync(0, "utf8"));
const sandboxes = new Map();
const commands = new Map();
const handles = new Map();
const configs = { direct: config(false), proxy: config(true) };
const managers = {
  direct: SandboxManager.create({ connectionConfig: configs.direct }),
  proxy: SandboxManager.create({ connectionConfig: configs.proxy }),
};

function config(useServerProxy) {
  const [protocol, domain] = plan.url.split("://");
  return new ConnectionConfig({
    domain,
    protocol,
    apiKey: plan.api_key,
    useServerProxy,
    disableMetrics: true,
    requestTimeoutSeconds: 60,
  });
}

const via = (operation) => operation.via ?? "direct";
const manager = (operation) => managers[via(operation)];
const sandboxId = (operation) => operation.sandbox_id ?? found(sandboxes, operation.sandbox);
const commandId = (operation) => operation.command_id ?? found(commands, operation.command);

// What an earlier operation has left, unless it has failed.
function found(ids, label) {
  if (!ids.has(label)) throw Object.assign(new Error(label), { shared: "unlabelled" });
  return ids.get(label);
}

function keepCommand(operation, id) {
  if (operation.as !== undefined && id !== undefined) commands.set(operation.as, id);
}

function refuse(operation, ...names) {
  const found = names.find((name) => name in operation);
  if (found !== undefined) throw new Unsupported(`${operation.call}.${found}`);
}

async function sandbox(operation) {
  const id = sandboxId(operation);
  const key = `${via(operation)} ${id}`;
  if (!handles.has(key)) {
    const options = { sandboxId: id, connectionConfig: configs[via(operation)], skipHealthCheck: true };
    handles.set(key, await Sandbox.connect(options));
  }
  return handles.get(key);
}

const calls = {
  async create(operation) {
    const policy = operation.network_policy;
    const created = await Sandbox.create({
      connectionConfig: configs[via(operation)],
      image: operation.image ?? plan.image,
      timeoutSeconds: operation.timeout_s ?? null,
      env: operation.env,
      metadata: { ...operation.metadata, [LABEL_KEY]: operation.as, [CLIENT_KEY]: plan.client },
      resource: operation.resource,
      networkPolicy: policy && { defaultAction: policy.default_action, egress: policy.egress },
    });
    sandboxes.set(operation.as, created.id);
    handles.set(`${via(operation)} ${created.id}`, created);
    return { id: created.id };
  },

  async get(operation) {
    return describe(await manager(operation).getSandboxInfo(sandboxId(operation)));
  },

  async list(operation) {
    const page = await manager(operation).listSandboxInfos({
      states: operation.states,
      metadata: { ...operation.metadata, [CLIENT_KEY]: plan.client },
      page: operation.page,
      pageSize: operation.page_size,
    });
    return { items: page.items.map(describe), has_next_page: page.pagination?.hasNextPage };
  },

  async kill(operation) {
    await manager(operation).killSandbox(sandboxId(operation));
    return {};
  },

  async renew(operation) {
    const renewed = await (await sandbox(operation)).renew(operation.in_s);
    return { expires_at: renewed.expiresAt?.toISOString() };
  },

  async pause(operation) {
    await manager(operation).pauseSandbox(sandboxId(operation));
    return {};
  },

  async resume(operation) {
    const options = { sandboxId: sandboxId(operation), connectionConfig: configs[via(operation)] };
    handles.set(`${via(operation)} ${options.sandboxId}`, await Sandbox.resume(options));
    return {};
  },

  async endpoint(operation) {
    const found = await (await sandbox(operation)).getEndpoint(operation.port);
    const headers = Object.keys(found.headers ?? {}).map((name) => name.toLowerCase());
    return { endpoint: found.endpoint, headers: headers.sort().join(", ") };
  },

  async metrics(operation) {
    const found = await (await sandbox(operation)).getMetrics();
    return {
      cpu_count: found.cpuCount,
      cpu_used_percent: found.cpuUsedPercentage,
      mem_total_mib: found.memoryTotalMiB,
      mem_used_mib: found.memoryUsedMiB,
      measured_at_ms: found.timestamp,
    };
  },

  async get_policy(operation) {
    const policy = await (await sandbox(operation)).getEgressPolicy();
    const egress = (policy.egress ?? []).map(({ action, target }) => ({ action, target }));
    return { default_action: policy.defaultAction, egress };
  },

  async patch_policy(operation) {
    await (await sandbox(operation)).patchEgressRules(operation.rules);
    return {};
  },

  async delete_rules(operation) {
    await (await sandbox(operation)).deleteEgressRules(operation.targets);
    return calls.get_policy(operation);
  },

  async run(operation) {
    refuse(operation, "argv");
    const target = await sandbox(operation);
    let id;
    let stdout = "";
    const handlers = {
      onInit: (init) => {
        id = init.id;
      },
      onStdout: async (message) => {
        stdout += message.text;
        if (operation.interrupt_on && stdout.includes(operation.interrupt_on)) await target.commands.interrupt(id);
      },
    };
    const execution = await target.commands.run(operation.text, options(operation, false), handlers);
    keepCommand(operation, execution.id);
    const text = (messages) => messages.map((message) => message.text).join("");
    return {
      end: ending(execution),
      exit_code: execution.exitCode,
      stdout: text(execution.logs.stdout),
      stderr: text(execution.logs.stderr),
    };
  },

  async start(operation) {
    const execution = await (await sandbox(operation)).commands.run(operation.text, options(operation, true));
    keepCommand(operation, execution.id);
    if (execution.error) throw Object.assign(new Error("start failed"), { shared: "start_failed" });
    return { id: execution.id };
  },

  async status(operation) {
    const target = await sandbox(operation);
    const deadline = Date.now() + FINISHED_WITHIN_MS;
    for (;;) {
      const found = await target.commands.getCommandStatus(commandId(operation));
      if (operation.until === undefined || !found.running || Date.now() > deadline) {
        return {
          is_running: found.running,
          exit_code: found.exitCode,
          error: found.error,
          started_at: found.startedAt?.toISOString(),
          finished_at: found.finishedAt?.toISOString(),
        };
      }
      await sleep(POLL_MS);
    }
  },

  async logs(operation) {
    const target = await sandbox(operation);
    const found = await target.commands.getBackgroundCommandLogs(commandId(operation), operation.cursor);
    return { text: found.content, cursor: found.cursor };
  },

  // What an application does that wants all of the output: it waits for the end, then reads.
  async follow(operation) {
    const status = await calls.status({ ...operation, until: "finished" });
    return { ...(await calls.logs(operation)), exit_code: status.exit_code };
  },

  async interrupt(operation) {
    await (await sandbox(operation)).commands.interrupt(commandId(operation));
    return {};
  },

  async upload(operation) {
    const entry = { path: operation.path, data: content(operation.content), mode: operation.mode };
    await (await sandbox(operation)).files.writeFiles([entry]);
    return {};
  },

  async download(operation) {
    const last = operation.length === undefined ? "" : operation.start + operation.length - 1;
    const range = operation.start === undefined ? undefined : `bytes=${operation.start}-${last}`;
    const digest = createHash("sha256");
    let bytes = 0;
    let beginning = Buffer.alloc(0);
    for await (const piece of (await sandbox(operation)).files.readBytesStream(operation.path, { range })) {
      digest.update(piece);
      bytes += piece.length;
      if (beginning.length < SHOWN_BYTES) beginning = Buffer.concat([beginning, piece]).subarray(0, SHOWN_BYTES);
    }
    return { bytes, sha256: digest.digest("hex"), beginning: beginning.toString() };
  },

  async info(operation) {
    const found = await (await sandbox(operation)).files.getFileInfo(operation.paths);
    return { entries: Object.fromEntries(Object.entries(found).map(([path, info]) => [path, entry(info)])) };
  },

  async list_directory(operation) {
    const wanted = { path: operation.path, depth: operation.depth ?? 1 };
    return { entries: (await (await sandbox(operation)).files.listDirectory(wanted)).map(entry) };
  },

  async search(operation) {
    const found = await (await sandbox(operation)).files.search({ path: operation.path, pattern: operation.pattern });
    const byPath = (one, other) => (one.path < other.path ? -1 : 1);
    return { entries: found.map(entry).sort(byPath) };
  },

  async make_directory(operation) {
    await (await sandbox(operation)).files.createDirectories([{ path: operation.path, mode: operation.mode }]);
    return {};
  },

  async delete_files(operation) {
    await (await sandbox(operation)).files.deleteFiles(operation.paths);
    return {};
  },

  async delete_directory(operation) {
    await (await sandbox(operation)).files.deleteDirectories([operation.path]);
    return {};
  },

  async move(operation) {
    await (await sandbox(operation)).files.moveFiles([{ src: operation.from, dest: operation.to }]);
    return {};
  },

  async replace(operation) {
    const one = { path: operation.path, oldContent: operation.old, newContent: operation.new };
    const found = await (await sandbox(operation)).files.replaceContentsDetailed([one]);
    return { count: found.reduce((sum, result) => sum + result.replacedCount, 0) };
  },
};

function options(operation, background) {
  refuse(operation, "argv");
  return {
    background,
    workingDirectory: operation.cwd,
    timeoutSeconds: operation.timeout_ms === undefined ? undefined : operation.timeout_ms / 1000,
    envs: operation.env,
  };
}

function ending(execution) {
  if (execution.exitCode === -1) return "killed";
  if (execution.exitCode !== null && execution.exitCode !== undefined) return "exited";
  return execution.error ? "start_failed" : "unknown";
}

// A large upload is streamed; a small one is given whole.
function content({ text, size }) {
  if (size === undefined) return new TextEncoder().encode(text);
  const piece = Buffer.from(text.repeat(Math.ceil(PIECE_BYTES / text.length)));
  const whole = piece.subarray(0, piece.length - (piece.length % text.length));
  return (async function* () {
    for (let left = size; left > 0; left -= whole.length) yield whole.subarray(0, left);
  })();
}

function describe(info) {
  return {
    id: info.id,
    state: info.status.state,
    reason: info.status.reason,
    expires_at: info.expiresAt?.toISOString(),
    created_at: info.createdAt?.toISOString(),
    metadata: info.metadata,
    extensions: info.extensions,
    image: info.image?.uri,
    entrypoint: info.entrypoint,
  };
}

function entry(info) {
  return {
    path: info.path,
    type: info.type,
    size: info.size,
    mode: info.mode === undefined ? undefined : String(info.mode),
    owner: info.owner,
    group: info.group,
    modified_at: info.modifiedAt?.toISOString(),
    created_at: info.createdAt?.toISOString(),
  };
}

// The words that all drivers share for what went wrong.
function failure(error) {
  if (error.shared) return { class: error.shared };
  if (error instanceof SandboxApiException) {
    const code = error.error.code === SandboxError.UNEXPECTED_RESPONSE ? undefined : error.error.code;
    return { class: "answered", status: error.statusCode, code };
  }
  if (error instanceof InvalidArgumentException) return { class: "refused" };
  if (error instanceof SandboxException) return { class: error.error.code.toLowerCase() };
  if (error instanceof TypeError && error.message === "fetch failed") return { class: "unreachable" };
  if (error.constructor !== Error) throw error;
  return { class: error.message.includes("unexpected response") ? "protocol_unsupported" : "refused" };
}

async function answer(operation) {
  const call = calls[operation.call];
  if (call === undefined) return { unsupported: operation.call };
  try {
    return { result: await call(operation) };
  } catch (error) {
    return error instanceof Unsupported ? { unsupported: error.message } : { error: failure(error) };
  }
}

for (const operation of plan.operations) {
  process.stdout.write(`${JSON.stringify({ name: operation.name, ...(await answer(operation)) })}\n`);
}
for (const id of sandboxes.values()) await managers.direct.killSandbox(id).catch(() => undefined);
for (const handle of [...handles.values(), ...Object.values(managers)]) await handle.close();
