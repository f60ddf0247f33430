"""The driver of the official command `osb`.

Each operation is a process of its own with pipes of its own. The processes are forked from this one, which has loaded
the command's modules already, since loading takes a second and there are dozens of operations.
"""

import json
import os
import re
import selectors
import signal
import sys
import tempfile

from driver import (
    Failed,
    Labels,
    Unsupported,
    content,
    downloaded,
    drive,
    ending,
    file_chunks,
    followed,
    metadata,
    until_finished,
)
from opensandbox_cli.main import cli

EXECUTION_ERROR = re.compile(r"ERROR \[Execution Error\]: \w*: ?(.*)\n?\Z", re.DOTALL)
INCOMPLETE = "ERROR [Execution Incomplete]"
CODE = re.compile(r"\[([A-Za-z_:]+)\] ")
USAGE = 2
WATCH_LINES = 2


class Finished:
    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr


def fork(arguments, stdin=b"", stop_when=None):
    """Runs `osb` with these arguments; sends it an interrupt when its output so far makes `stop_when` true."""
    with tempfile.TemporaryFile() as given:
        given.write(given_bytes(stdin))
        given.seek(0)
        out, err = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            run_cli(given, out, err, arguments)
        os.close(out[1])
        os.close(err[1])
        stdout, stderr = gather(pid, out[0], err[0], stop_when)
        _, status = os.waitpid(pid, 0)
    return Finished(os.waitstatus_to_exitcode(status), stdout, stderr)


def given_bytes(stdin):
    return stdin if isinstance(stdin, bytes) else stdin.encode()


def run_cli(given, out, err, arguments):
    """The child: never returns."""
    status = 1
    try:
        os.dup2(given.fileno(), 0)
        os.dup2(out[1], 1)
        os.dup2(err[1], 2)
        for end in (*out, *err):
            os.close(end)
        # Whoever starts a test in the background may have made every program below it deaf to interrupts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        options = {"encoding": "utf-8", "newline": ""}
        sys.stdin = open(0, "r", **options)
        sys.stdout, sys.stderr = open(1, "w", **options), open(2, "w", **options)
        sys.argv = ["osb", *arguments]
        cli(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        # An interrupt from here on would let the child out of this function, as a second driver.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def gather(pid, out, err, stop_when):
    """Reads both pipes to their ends."""
    pieces = {out: b"", err: b""}
    with selectors.DefaultSelector() as selector:
        for end in pieces:
            selector.register(end, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                piece = os.read(key.fd, 1 << 16)
                pieces[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
                    os.close(key.fd)
            if stop_when and stop_when(pieces[out].decode(errors="replace")):
                os.kill(pid, signal.SIGINT)
                stop_when = None
    return pieces[out].decode(errors="replace"), pieces[err].decode(errors="replace")


def failure(finished):
    """What the command's message tells. It names no HTTP status."""
    if finished.status == USAGE:
        return Failed("refused")
    code = CODE.search(finished.stderr)
    code = code and code.group(1)
    own = {"UNEXPECTED_RESPONSE": Failed("answered"), "INVALID_ARGUMENT": Failed("refused")}
    if code in own:
        return own[code]
    if code is None:
        is_invalid = "Sandbox Error" not in finished.stderr and "ValidationError" in finished.stderr
        return Failed("refused" if is_invalid else "answered")
    return Failed("answered", code=code)


class Osb:
    def __init__(self, plan):
        self.plan = plan
        self.labels = Labels()
        # No settings of whoever runs the test.
        self.home = tempfile.TemporaryDirectory()
        os.environ["HOME"] = self.home.name

    def close(self):
        for sandbox_id in self.labels.sandboxes.values():
            self._fork({}, "sandbox", "kill", sandbox_id)

    def _fork(self, operation, *arguments, **options):
        protocol, domain = self.plan["url"].split("://")
        connection = ["--no-color", "--protocol", protocol, "--domain", domain, "--api-key", self.plan["api_key"]]
        connection += ["--request-timeout", "60"]
        if operation.get("via") == "proxy":
            connection.append("--use-server-proxy")
        return fork([*connection, *arguments], **options)

    def _done(self, operation, *arguments, **options):
        finished = self._fork(operation, *arguments, **options)
        if finished.status != 0:
            raise failure(finished)
        return finished

    def _json(self, operation, *arguments):
        return json.loads(self._done(operation, *arguments, "-o", "json").stdout)

    def create(self, operation):
        arguments = ["--image", operation.get("image", self.plan["image"])]
        arguments += ["--timeout", f"{operation['timeout_s']}s" if "timeout_s" in operation else "none"]
        pairs = {"--env": operation.get("env", {}), "--metadata": metadata(self.plan, operation)}
        pairs["--resource"] = operation.get("resource", {})
        arguments += [word for name, given in pairs.items() for pair in given.items() for word in (name, "=".join(pair))]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as policy:
            if "network_policy" in operation:
                given = operation["network_policy"]
                json.dump({"defaultAction": given["default_action"], "egress": given["egress"]}, policy)
                policy.flush()
                arguments += ["--network-policy-file", policy.name]
            created = self._json(operation, "sandbox", "create", *arguments)
        self.labels.sandboxes[operation["as"]] = created["id"]
        return {"id": created["id"]}

    def get(self, operation):
        return self._describe(self._json(operation, "sandbox", "get", self.labels.sandbox(operation)))

    def list(self, operation):
        wanted = {**operation.get("metadata", {}), "differential.client": self.plan["client"]}
        arguments = [word for pair in wanted.items() for word in ("--metadata", "=".join(pair))]
        arguments += [word for state in operation.get("states", []) for word in ("--state", state)]
        arguments += ["--page", str(operation["page"])] if "page" in operation else []
        arguments += ["--page-size", str(operation["page_size"])] if "page_size" in operation else []
        page = self._json(operation, "sandbox", "list", *arguments)
        items = [self._describe(info) for info in page["items"]]
        return {"items": items, "has_next_page": page["pagination"]["has_next_page"]}

    def kill(self, operation):
        self._json(operation, "sandbox", "kill", self.labels.sandbox(operation))
        return {}

    def renew(self, operation):
        if operation["in_s"] < 0:
            raise Unsupported("renew.in_s below zero")
        arguments = [self.labels.sandbox(operation), "--timeout", f"{operation['in_s']}s"]
        renewed = self._json(operation, "sandbox", "renew", *arguments)
        return {"expires_at": renewed["expires_at"].replace(" ", "T")}

    def pause(self, operation):
        self._json(operation, "sandbox", "pause", self.labels.sandbox(operation))
        return {}

    def resume(self, operation):
        self._json(operation, "sandbox", "resume", self.labels.sandbox(operation))
        return {}

    def endpoint(self, operation):
        arguments = [self.labels.sandbox(operation), "--port", str(operation["port"])]
        found = self._json(operation, "sandbox", "endpoint", *arguments)
        return {"endpoint": found["endpoint"], "headers": ", ".join(sorted(found["headers"])).lower()}

    def metrics(self, operation):
        return self._metrics(self._json(operation, "sandbox", "metrics", self.labels.sandbox(operation)))

    def watch_metrics(self, operation):
        def is_enough(stdout):
            return stdout.count('"timestamp"') >= WATCH_LINES

        arguments = ["sandbox", "metrics", "--watch", self.labels.sandbox(operation), "-o", "json"]
        stdout, samples, at = self._fork(operation, *arguments, stop_when=is_enough).stdout, [], 0
        while (at := stdout.find("{", at)) >= 0 and len(samples) < WATCH_LINES:
            sample, at = json.JSONDecoder().raw_decode(stdout, at)
            samples.append(self._metrics(sample))
        return {"samples": samples}

    def get_policy(self, operation):
        policy = self._json(operation, "egress", "get", self.labels.sandbox(operation))
        rules = [{"action": rule["action"], "target": rule["target"]} for rule in policy["egress"] or []]
        return {"default_action": policy["default_action"], "egress": rules}

    def patch_policy(self, operation):
        rules = [word for rule in operation["rules"] for word in ("--rule", f"{rule['action']}={rule['target']}")]
        self._json(operation, "egress", "patch", self.labels.sandbox(operation), *rules)
        return {}

    def _command(self, operation, *options):
        operation.refuse("env", "interrupt_on")
        if operation.get("text") == "":
            raise Unsupported("run.text that is empty")
        arguments = [self.labels.sandbox(operation), *options]
        if "cwd" in operation:
            arguments += ["--workdir", operation["cwd"]]
        if "timeout_ms" in operation:
            if operation["timeout_ms"] % 1000:
                raise Unsupported("run.timeout_ms below a second")
            arguments += ["--timeout", f"{operation['timeout_ms'] // 1000}s"]
        if "argv" in operation:
            arguments += ["--argv", "--", *operation["argv"]]
        else:
            # The command quotes each word; a shell is how a text is run as it is.
            arguments += ["--", "bash", "-c", operation["text"]]
        return ["command", "run", *arguments]

    def run(self, operation):
        operation.refuse("as")
        finished = self._fork(operation, *self._command(operation, "-o", "raw"))
        stderr, exit_code, is_complete = finished.stderr, 0, True
        if error := EXECUTION_ERROR.search(stderr):
            stderr = stderr[: error.start()]
            is_complete = False
            exit_code = int(error.group(1)) if re.fullmatch(r"-?\d+", error.group(1).strip()) else None
        elif INCOMPLETE in stderr:
            stderr, exit_code, is_complete = stderr[: stderr.index(INCOMPLETE)], None, False
        elif finished.status != 0:
            raise failure(finished)
        return {
            "end": ending(exit_code, error is not None, is_complete),
            "exit_code": exit_code,
            "stdout": finished.stdout,
            "stderr": stderr,
        }

    def start(self, operation):
        finished = self._fork(operation, *self._command(operation, "--background", "-o", "json"))
        if finished.status != 0:
            raise Failed("start_failed") if EXECUTION_ERROR.search(finished.stderr) else failure(finished)
        command_id = json.loads(finished.stdout)["execution_id"]
        self.labels.keep_command(operation, command_id)
        return {"id": command_id}

    def status(self, operation):
        arguments = ["command", "status", self.labels.sandbox(operation), self.labels.command(operation)]

        def ask():
            found = self._json(operation, *arguments)
            return {
                "is_running": found["running"],
                "exit_code": found["exit_code"],
                "error": found["error"],
                "started_at": found["started_at"],
                "finished_at": found["finished_at"],
            }

        return until_finished(operation, ask)

    def logs(self, operation):
        arguments = [self.labels.sandbox(operation), self.labels.command(operation)]
        arguments += ["--cursor", str(operation["cursor"])] if "cursor" in operation else []
        found = self._json(operation, "command", "logs", *arguments)
        return {"text": found["content"], "cursor": found["cursor"]}

    def follow(self, operation):
        return followed(self, operation)

    def interrupt(self, operation):
        arguments = [self.labels.sandbox(operation), self.labels.command(operation)]
        self._json(operation, "command", "interrupt", *arguments)
        return {}

    def upload(self, operation):
        sandbox_id, data = self.labels.sandbox(operation), content(operation)
        if "size" in operation["content"]:
            with tempfile.NamedTemporaryFile() as local:
                local.write(data)
                local.flush()
                self._json(operation, "file", "upload", sandbox_id, local.name, operation["path"])
            return {}
        mode = ["--mode", str(operation["mode"])] if "mode" in operation else []
        arguments = ["file", "write", sandbox_id, operation["path"], *mode, "-o", "json"]
        self._done(operation, *arguments, stdin=data)
        return {}

    def download(self, operation):
        operation.refuse("start")
        with tempfile.TemporaryDirectory() as directory:
            local = os.path.join(directory, "file")
            self._json(operation, "file", "download", self.labels.sandbox(operation), operation["path"], local)
            return downloaded(file_chunks(local))

    def info(self, operation):
        rows = self._json(operation, "file", "info", self.labels.sandbox(operation), *operation["paths"])
        # Each row has the path as the server knows it, which for these paths is the path as given.
        return {"entries": {row["path"]: self._entry(row) for row in rows}}

    def search(self, operation):
        arguments = [self.labels.sandbox(operation), operation["path"], "--pattern", operation["pattern"]]
        found = self._json(operation, "file", "search", *arguments)
        return {"entries": [self._entry(entry) for entry in sorted(found, key=lambda entry: entry["path"])]}

    def make_directory(self, operation):
        arguments = [self.labels.sandbox(operation), operation["path"], "--mode", str(operation["mode"])]
        self._json(operation, "file", "mkdir", *arguments)
        return {}

    def delete_files(self, operation):
        self._json(operation, "file", "rm", self.labels.sandbox(operation), *operation["paths"])
        return {}

    def delete_directory(self, operation):
        self._json(operation, "file", "rmdir", self.labels.sandbox(operation), operation["path"])
        return {}

    def move(self, operation):
        self._json(operation, "file", "mv", self.labels.sandbox(operation), operation["from"], operation["to"])
        return {}

    def replace(self, operation):
        arguments = [self.labels.sandbox(operation), operation["path"]]
        self._json(operation, "file", "replace", *arguments, "--old", operation["old"], "--new", operation["new"])
        return {}

    @staticmethod
    def _describe(info):
        return {
            "id": info["id"],
            "state": info["status"]["state"],
            "reason": info["status"]["reason"],
            "expires_at": info["expires_at"],
            "created_at": info["created_at"],
            "metadata": info["metadata"],
            "extensions": info["extensions"],
            "image": info["image"] and info["image"]["image"],
            "entrypoint": info["entrypoint"],
        }

    @staticmethod
    def _entry(entry):
        return {
            "path": entry["path"],
            "type": entry["entry_type"],
            "size": entry["size"],
            "mode": str(entry["mode"]),
            "owner": entry["owner"],
            "group": entry["group"],
            "modified_at": entry["modified_at"],
            "created_at": entry["created_at"],
        }

    @staticmethod
    def _metrics(found):
        return {
            "cpu_count": found["cpu_count"],
            "cpu_used_percent": found["cpu_used_percentage"],
            "mem_total_mib": found["memory_total_in_mib"],
            "mem_used_mib": found["memory_used_in_mib"],
            "measured_at_ms": found["timestamp"],
        }


if __name__ == "__main__":
    drive(Osb)
