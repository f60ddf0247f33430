"""Commands: started once, watched to their end, and asked about by their id."""

import os
import pwd
import re
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator

from wire import Exchange, Refusal, Stream, compact

PING_SECONDS = 3.0
POLL_SECONDS = 0.05
INTERRUPT_SECONDS = 3.0
# The answer stays open for so long after the terminal event, as the real one does.
TAIL_SECONDS = 1.0
MAX_ID = 2**32 - 1
OUTPUT = Path(tempfile.mkdtemp(prefix="execd-"))
# A piece of output ends with a line feed or a carriage return; both together are one end.
END = re.compile(rb"\r\n|\r|\n")

# The wire of execd 1.0 has no `argv`, strips line ends, and sends a blank line as a line end.
IS_OLDER_WIRE = os.environ.get("VITRINE_EXECD_WIRE") == "1.0"

known: dict[str, "Command"] = {}


def bad(message: str) -> Refusal:
    return Refusal(400, "INVALID_REQUEST_BODY", message)


class Request:
    """What is asked for, checked."""

    def __init__(self, body: Any) -> None:
        if not isinstance(body, dict):
            raise bad("the request is no object")
        self.command, argv = body.get("command") or "", [] if IS_OLDER_WIRE else body.get("argv") or []
        if not isinstance(self.command, str) or not isinstance(argv, list) or not all(isinstance(a, str) for a in argv):
            raise bad("command is a text, and argv a list of texts")
        if bool(self.command) == bool(argv):
            raise bad("exactly one of command and argv is needed")
        if argv and (not argv[0] or any("\0" in one for one in argv)):
            raise bad("argv has no program or holds a NUL")
        self.argv = argv or [shell(), "-c", self.command]
        self.cwd = body.get("cwd") or os.getcwd()
        if not os.path.isdir(self.cwd):
            raise bad(f"cwd {self.cwd} is no directory")
        self.background = body.get("background") is True
        self.timeout_ms = number(body, "timeout", 2**63 - 1) or 0
        self.uid, self.gid = number(body, "uid", MAX_ID), number(body, "gid", MAX_ID)
        if self.gid is not None and self.uid is None:
            raise bad("gid needs uid")
        envs = body.get("envs") or {}
        if not isinstance(envs, dict) or not all(isinstance(value, str) for value in envs.values()):
            raise bad("envs is a map of texts")
        if any(not name or "=" in name or "\0" in name + value for name, value in envs.items()):
            raise bad("envs has a name or value that no process can be given")
        self.env = {**os.environ, **envs}

    def user(self) -> dict[str, Any]:
        """How the process gets its user; nothing when it keeps ours."""
        if self.uid is None or (self.uid == os.getuid() and self.gid in (None, os.getgid())):
            return {}
        try:
            entry = pwd.getpwuid(self.uid)
            gid = entry.pw_gid if self.gid is None else self.gid
            groups = os.getgrouplist(entry.pw_name, gid)
        except KeyError:
            gid = self.uid if self.gid is None else self.gid
            groups = [gid]
        return {"user": self.uid, "group": gid, "extra_groups": groups}


def shell() -> str:
    return "bash" if os.path.exists("/bin/bash") else "sh"


def number(body: dict[str, Any], name: str, most: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise bad(f"{name} is no number from 0 to {most}")
    return value


class Command:
    """A process group with its output in files, and what became of it."""

    def __init__(self, request: Request) -> None:
        self.id = uuid.uuid4().hex
        self.request = request
        self.content = request.command or " ".join(request.argv)
        self.started_at = datetime.now(timezone.utc)
        self.finished_at: datetime | None = None
        self.exit_code: int | None = None
        self.error: str | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.begun, self.ended = threading.Event(), threading.Event()
        self.stdout, self.stderr = OUTPUT / f"{self.id}.stdout", OUTPUT / f"{self.id}.stderr"
        # What runs in the background has one file for both, which the logs are.
        self.stdout.touch()
        if request.background:
            self.stderr = self.stdout
        known[self.id] = self

    def start(self) -> None:
        """Raises `OSError` when the process cannot be started."""
        try:
            # Before the process, which may leave no place for a thread below the sandbox's limit of processes.
            threading.Thread(target=self.watch, daemon=True).start()
            with self.stdout.open("ab") as stdout, self.stderr.open("ab") as stderr:
                self.process = subprocess.Popen(
                    self.request.argv,
                    cwd=self.request.cwd,
                    env=self.request.env,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    process_group=0,
                    **self.request.user(),
                )
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            self.finish(255, str(error))
            raise OSError(str(error)) from error
        finally:
            self.begun.set()

    def watch(self) -> None:
        self.begun.wait()
        if self.process is None:
            return
        limit = self.request.timeout_ms / 1000 or None
        try:
            status = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            status = self.process.wait()
        if self.request.background:
            self.signal(signal.SIGKILL)
        if status < 0:
            self.finish(-1, f"signal: {'killed' if status == -signal.SIGKILL else 'terminated'}")
        else:
            self.finish(status, f"exit status {status}" if status else None)

    def finish(self, exit_code: int, error: str | None) -> None:
        self.exit_code, self.error = exit_code, error
        self.finished_at = datetime.now(timezone.utc)
        self.ended.set()

    def signal(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def interrupt(self) -> None:
        self.signal(signal.SIGTERM)
        if not self.ended.wait(INTERRUPT_SECONDS):
            self.signal(signal.SIGKILL)
            self.ended.wait()

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = {"id": self.id, "content": self.content, "running": not self.ended.is_set()}
        if self.ended.is_set():
            status["exit_code"] = self.exit_code
            status["finished_at"] = self.finished_at.isoformat() if self.finished_at else None
        if self.error:
            status["error"] = self.error
        status["started_at"] = self.started_at.isoformat()
        return status


class Tail:
    """What is new in a file of output, in pieces that end with a line; the last one at the end only."""

    def __init__(self, file: Path, kind: str) -> None:
        self.file, self.kind, self.rest = file.open("rb"), kind, b""

    def pieces(self, at_end: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        while data := self.file.read(1 << 18):
            # What has no end so far is not looked through again, but for a carriage return.
            begin, looked_at = 0, max(0, len(self.rest) - 1)
            self.rest += data
            for end in END.finditer(self.rest, looked_at):
                # A carriage return at the very end may be half of an end of line.
                if end.end() == len(self.rest) and end.group() == b"\r":
                    break
                piece = self.rest[begin : end.end()]
                begin = end.end()
                yield self.kind, {"text": on_the_wire(piece.decode("utf-8", "replace"))}
            self.rest = self.rest[begin:]
        if at_end and self.rest:
            yield self.kind, {"text": self.rest.decode("utf-8", "replace")}
            self.rest = b""


def on_the_wire(line: str) -> str:
    return line.rstrip("\r\n") or "\n" if IS_OLDER_WIRE else line


def run(exchange: Exchange) -> None:
    command = Command(Request(exchange.body.json()))
    if command.request.background:
        return run_in_background(exchange, command)
    try:
        command.start()
    except OSError as error:
        stream = exchange.stream()
        stream.event("init", text=command.id)
        failed(stream, str(error), str(error))
        return stream.end()
    stream = exchange.stream()
    stream.event("init", text=command.id)
    return follow(stream, command, [Tail(command.stdout, "stdout"), Tail(command.stderr, "stderr")])


def follow(stream: Stream, command: Command, tails: list[Tail]) -> None:
    """Sends output, a ping from time to time, and the end."""
    started = time.monotonic()
    next_ping = 0.0
    while True:
        at_end = command.ended.wait(POLL_SECONDS)
        for tail in tails:
            batch = []
            for piece in tail.pieces(at_end):
                batch.append(piece)
                if len(batch) == 256:
                    stream.events(batch)
                    batch = []
            stream.events(batch)
        if at_end:
            break
        if time.monotonic() >= next_ping:
            stream.event("ping", text="pong")
            next_ping = time.monotonic() + PING_SECONDS
    if command.exit_code == 0:
        stream.event("execution_complete", execution_time=int((time.monotonic() - started) * 1000) or 1)
    else:
        failed(stream, str(command.exit_code), command.error or "")
    time.sleep(TAIL_SECONDS)
    stream.end()


def run_in_background(exchange: Exchange, command: Command) -> None:
    try:
        command.start()
    except OSError as error:
        stream = exchange.stream()
        stream.event("init", text=command.id)
        # The real one forgets here that it has begun a stream.
        stream.raw(compact({"code": "RUNTIME_ERROR", "message": str(error)}))
        return stream.end()
    stream = exchange.stream()
    stream.event("init", text=command.id)
    stream.event("ping", text="pong")
    stream.event("execution_complete", execution_time=1)
    time.sleep(TAIL_SECONDS)
    return stream.end()


def failed(stream: Stream, value: str, trace: str) -> None:
    stream.event("error", error={"ename": "CommandExecError", "evalue": value, "traceback": [trace]})


def interrupt(exchange: Exchange) -> None:
    name = exchange.first("id")
    if not name:
        raise Refusal(400, "MISSING_QUERY", "missing query parameter 'id'")
    command = known.get(name)
    if command is None:
        raise Refusal(500, "RUNTIME_ERROR", "no such session")
    if command.ended.is_set():
        raise Refusal(500, "RUNTIME_ERROR", f"{name} is not running")
    command.interrupt()
    exchange.reply(200)


def status(exchange: Exchange, id: str) -> None:
    if id not in known:
        raise Refusal(404, "INVALID_REQUEST_BODY", f"command {id} not found")
    exchange.json(known[id].status())


def logs(exchange: Exchange, id: str) -> None:
    command = known.get(id)
    if command is None or not command.request.background:
        raise bad(f"command {id} not found or not in the background")
    text = exchange.first("cursor") or "0"
    cursor = int(text) if re.fullmatch(r"-?\d+", text) else 0
    if cursor < 0:
        raise bad("cursor is negative")
    with command.stdout.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        # A cursor beyond the end stays where output will be.
        file.seek(min(cursor, end))
        data = file.read()
    tail = str(min(cursor, end) + len(data))
    exchange.reply(200, data, [("Content-Type", "text/plain; charset=utf-8"), ("EXECD-COMMANDS-TAIL-CURSOR", tail)])


ROUTES = [
    ("POST", r"/command", run),
    ("DELETE", r"/command", interrupt),
    ("GET", r"/command/status/(?P<id>[^/]+)", status),
    ("GET", r"/command/(?P<id>[^/]+)/logs", logs),
]
