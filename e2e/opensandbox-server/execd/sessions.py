"""Sessions: runs of bash that hand their directory and exported variables to the next one."""

import os
import shlex
import shutil
import tempfile
import uuid
from pathlib import Path

import commands
from wire import Exchange, Refusal

known: dict[str, Path] = {}


def create(exchange: Exchange) -> None:
    body = exchange.body.json() or {}
    cwd = body.get("cwd") or os.getcwd()
    os.makedirs(cwd, exist_ok=True)
    name, state = str(uuid.uuid4()), Path(tempfile.mkdtemp(prefix="session-"))
    (state / "cwd").write_text(cwd)
    known[name] = state
    exchange.json({"session_id": name})


def run(exchange: Exchange, id: str) -> None:
    state = known.get(id)
    if state is None:
        raise Refusal(500, "RUNTIME_ERROR", "no such session")
    body = exchange.body.json() or {}
    if not isinstance(body.get("command"), str) or not body["command"]:
        raise commands.bad("command is needed")
    exports, place = shlex.quote(str(state / "exports")), shlex.quote(str(state / "cwd"))
    script = (
        f"[ ! -f {exports} ] || . {exports}\n"
        f"cd \"$(cat {place})\"\n"
        f"trap 'export -p >{exports}; pwd >{place}' EXIT\n"
        f"{body['command']}\n"
    )
    request = commands.Request({"argv": ["bash", "--noprofile", "--norc", "-c", script], "timeout": body.get("timeout")})
    command = commands.Command(request)
    command.stderr = command.stdout
    command.start()
    stream = exchange.stream()
    stream.event("init", text=id)
    commands.follow(stream, command, [commands.Tail(command.stdout, "stdout")])


def delete(exchange: Exchange, id: str) -> None:
    state = known.pop(id, None)
    if state is None:
        raise Refusal(404, "CONTEXT_NOT_FOUND", "session not found")
    shutil.rmtree(state, ignore_errors=True)
    exchange.reply(200)


ROUTES = [
    ("POST", r"/session", create),
    ("POST", r"/session/(?P<id>[^/]+)/run", run),
    ("DELETE", r"/session/(?P<id>[^/]+)", delete),
]
