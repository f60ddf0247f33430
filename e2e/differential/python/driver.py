"""What the two drivers in Python share: the plan on standard input, one line of JSON per operation on standard output.

Rule: a driver reports what its client gave and judges nothing. ../README.md has the vocabulary.
"""

import hashlib
import io
import json
import os
import sys
import time

CLIENT_KEY = "differential.client"
LABEL_KEY = "vitrine.sandbox"
DEFAULT_ENTRYPOINT = ["tail", "-f", "/dev/null"]
FINISHED_WITHIN_S = 20
POLL_S = 0.05
SHOWN_BYTES = 256


class Unsupported(Exception):
    """The client has no such call, or no such argument of it."""


class Failed(Exception):
    """The client failed, in the words that all drivers share."""

    def __init__(self, kind, status=None, code=None):
        super().__init__(kind, status, code)
        self.error = {"class": kind, "status": status, "code": code}


class Operation(dict):
    """One call of the plan, with its arguments."""

    def refuse(self, *arguments):
        for name in arguments:
            if name in self:
                raise Unsupported(f"{self['call']}.{name}")

    @property
    def is_proxied(self):
        return self.get("via") == "proxy"


class Labels:
    """What earlier operations have left for later ones: ids of sandboxes and commands."""

    def __init__(self):
        self.sandboxes = {}
        self.commands = {}

    def sandbox(self, operation):
        return operation.get("sandbox_id") or self._find(self.sandboxes, operation["sandbox"])

    def command(self, operation):
        return operation.get("command_id") or self._find(self.commands, operation["command"])

    @staticmethod
    def _find(ids, label):
        """What an earlier operation has left, unless it has failed."""
        if label not in ids:
            raise Failed("unlabelled")
        return ids[label]

    def keep_command(self, operation, command_id):
        if "as" in operation and command_id:
            self.commands[operation["as"]] = command_id


def metadata(plan, operation):
    """The metadata of a new sandbox: the operation's own, our label, and whose it is."""
    return {**operation.get("metadata", {}), LABEL_KEY: operation["as"], CLIENT_KEY: plan["client"]}


def content(operation):
    """The bytes of an upload."""
    given = operation["content"]
    text = given["text"].encode()
    size = given.get("size", len(text))
    return (text * (size // max(len(text), 1) + 1))[:size]


def downloaded(chunks):
    """What a download was."""
    digest, size, beginning = hashlib.sha256(), 0, b""
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        beginning += chunk[: SHOWN_BYTES - len(beginning)]
    return {"bytes": size, "sha256": digest.hexdigest(), "beginning": beginning.decode(errors="replace")}


def file_chunks(path):
    with open(path, "rb") as file:
        yield from iter(lambda: file.read(io.DEFAULT_BUFFER_SIZE), b"")


def until_finished(operation, status):
    """Asks for a status, again and again when the operation wants the end."""
    deadline = time.monotonic() + FINISHED_WITHIN_S
    while True:
        found = status()
        if "until" not in operation or not found["is_running"] or time.monotonic() > deadline:
            return found
        time.sleep(POLL_S)


def followed(client, operation):
    """What an application does that wants all of a background command's output: it waits for the end, then reads."""
    status = client.status(Operation(operation, until="finished"))
    return {**client.logs(operation), "exit_code": status["exit_code"]}


def ending(exit_code, has_error, is_complete):
    """How a command ended, as far as its exit code and events tell."""
    if exit_code == -1:
        return "killed"
    if exit_code is not None:
        return "exited"
    return "start_failed" if has_error else "exited" if is_complete else "unknown"


def drive(make_client):
    """Performs every operation of the plan with the calls of the client, which are methods named like them."""
    plan = json.load(sys.stdin)
    if plan["url"].startswith("http://"):
        # Loading certificates, which nothing here needs, is most of the time that a short-lived client takes.
        os.environ["SSL_CERT_DIR"] = os.devnull
    client = make_client(plan)
    for operation in map(Operation, plan["operations"]):
        answer = {"name": operation["name"]}
        try:
            call = getattr(client, operation["call"], None)
            if call is None:
                raise Unsupported(operation["call"])
            answer["result"] = call(operation)
        except Unsupported as missing:
            answer["unsupported"] = str(missing)
        except Failed as failure:
            answer["error"] = failure.error
        print(json.dumps(answer), flush=True)
    client.close()
