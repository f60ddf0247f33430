#!/usr/bin/env python3
"""Measures speed and size of the release build and prints a table beside what the design allows. Nothing fails.

The programs run on loopback in a directory that is removed at the end. The scripted model is a process of its own, so
that the server's CPU time is the server's alone.
"""

import base64
import http.client
import http.server
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

TICKS = os.sysconf("SC_CLK_TCK")
# Turns that call a tool; the answer is one more.
NOTES = 60
DELTAS = 20


def call(url: str, method: str, path: str, headers: dict[str, str], body: Any = None) -> Any:
    host = url.split("//")[1]
    connection = http.client.HTTPConnection(host, timeout=60)
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "application/json", **headers})
    response = connection.getresponse()
    answer = response.read()
    is_json = "json" in (response.getheader("Content-Type") or "")
    connection.close()
    if response.status >= 300:
        sys.exit(f"{method} {path}: {response.status} {answer[:300]!r}")
    return json.loads(answer) if is_json else answer


@contextmanager
def running(arguments: list[str], **options: Any) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def wait_for(what: str, condition: Any, seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.0005)
    sys.exit(f"{what} did not happen within {seconds} s")


class Server:
    """A running `vitrine serve` on an empty data directory."""

    def __init__(self, binary: str, directory: Path, concurrency: int = 32):
        self.directory = directory / uuid.uuid4().hex
        ready = self.directory.with_suffix(".json")
        log = open(self.directory.with_suffix(".log"), "w")
        begin = time.monotonic()
        arguments = [binary, "serve", "--data-dir", str(self.directory), "--listen", "127.0.0.1:0", "--ready-file", str(ready)]
        environment = {**os.environ, "VITRINE_CONCURRENCY": str(concurrency)}
        self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=log, env=environment)
        wait_for("the start", lambda: ready.exists() and ready.read_text().endswith("}"))
        self.ready_ms = (time.monotonic() - begin) * 1000
        said = json.loads(ready.read_text())
        self.url, self.key = said["url"], said["apiKey"]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def cpu_ms(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / TICKS

    def rss_mib(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def ask(self, query: str, variables: Any = None) -> Any:
        answer = call(
            self.url, "POST", "/graphql", {"Authorization": f"Bearer {self.key}"}, {"query": query, "variables": variables or {}}
        )
        if "errors" in answer:
            sys.exit(f"the server answered: {answer['errors']}")
        return answer["data"]

    def mutate(self, name: str, kind: str, returns: str, values: Any) -> Any:
        document = f"mutation($input: {kind}!) {{ {name}(input: $input) {{ {returns} userErrors {{ message path }} }} }}"
        payload = self.ask(document, {"input": values})[name]
        if payload["userErrors"]:
            sys.exit(f"{name}: {payload['userErrors']}")
        return payload

    def agent(self, slug: str, model_url: str) -> str:
        project = self.ask("{ viewer { defaultProject { id } } }")["viewer"]["defaultProject"]["id"]
        common = {"projectId": project, "slug": slug, "name": slug, "publish": True}
        spec = {
            "protocol": "OPENAI_COMPATIBLE",
            "provider": "scripted",
            "deployment": slug,
            "alias": "scripted",
            "baseUrl": model_url,
            "contextWindow": 1_000_000,
            "maxOutputTokens": 100_000,
            "price": {"inputPerMillionUsd": "1", "outputPerMillionUsd": "2"},
        }
        model = self.mutate("modelCreate", "ModelCreateInput", "model { id }", {**common, "spec": spec})
        spec = {"instructions": "Do the task.", "modelId": model["model"]["id"], "tools": ["note"], "limits": {}}
        return self.mutate("agentCreate", "AgentCreateInput", "agent { id }", {**common, "spec": spec})["agent"]["id"]

    def start(self, agent: str, task: str) -> str:
        values = {"agentId": agent, "task": task, "idempotencyKey": uuid.uuid4().hex}
        return self.mutate("executionStart", "ExecutionStartInput", "execution { id }", values)["execution"]["id"]

    def finish(self, executions: list[str]) -> None:
        for execution in executions:
            ended = lambda: self.ask("query($id: ID!) { execution(id: $id) { status } }", {"id": execution})["execution"]
            while (status := ended()["status"]) in ("QUEUED", "RUNNING"):
                time.sleep(0.5)
            if status != "SUCCEEDED":
                sys.exit(f"an execution of the benchmark ended as {status}")


class Socket:
    """As much of a WebSocket client as one subscription needs."""

    def __init__(self, url: str, key: str):
        host, port = url.split("//")[1].split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        nonce = base64.b64encode(os.urandom(16)).decode()
        lines = [
            "GET /graphql HTTP/1.1",
            f"Host: {host}:{port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {nonce}",
            "Sec-WebSocket-Protocol: graphql-transport-ws",
        ]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(65536)
        self.buffer = self.buffer.split(b"\r\n\r\n", 1)[1]
        self.send({"type": "connection_init", "payload": {"authorization": f"Bearer {key}"}})
        assert self.receive()["type"] == "connection_ack"

    def send(self, message: Any) -> None:
        data, mask = json.dumps(message).encode(), os.urandom(4)
        head = b"\x81" + (bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data)))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            self.buffer += self.socket.recv(65536)
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self) -> Any:
        while True:
            kind, size = self.take(2)
            size &= 0x7F
            if size >= 126:
                size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
            data = self.take(size)
            if kind & 0x0F == 1:
                return json.loads(data)
            if kind & 0x0F == 8:
                sys.exit(f"the server closed the socket: {data!r}")


class OneToken(http.server.BaseHTTPRequestHandler):
    """A model that notes when it sends its only token."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sent: list[float] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        time.sleep(0.3)
        OneToken.sent.append(time.monotonic())
        self.chunk({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "token"}}]})
        time.sleep(0.05)
        self.chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.chunk({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def chunk(self, body: Any) -> None:
        self.wfile.write(f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', **body})}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        pass


def first_token_ms(server: Server, times: int = 20) -> float:
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OneToken)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    agent = server.agent("one-token", f"http://127.0.0.1:{model.server_port}/v1")
    took = []
    for number in range(times):
        execution = server.start(agent, "Say it.")
        follower = Socket(server.url, server.key)
        query = "subscription($id: ID!) { executionEvents(executionId: $id) { kind } }"
        follower.send({"id": "1", "type": "subscribe", "payload": {"query": query, "variables": {"id": execution}}})
        while (message := follower.receive())["type"] != "complete":
            if message["type"] == "next" and message["payload"]["data"]["executionEvents"]["kind"] == "ModelCallDelta":
                took.append((time.monotonic() - OneToken.sent[number]) * 1000)
                break
        server.finish([execution])
    model.shutdown()
    return statistics.median(took)


def iteration_cpu_ms(server: Server, agent: str, side_by_side: int) -> float:
    task = f"deltas={DELTAS * (NOTES + 1)} over_ms={NOTES * 100} notes={NOTES}"
    before = server.cpu_ms()
    server.finish([server.start(agent, task) for _ in range(side_by_side)])
    return (server.cpu_ms() - before) / (side_by_side * (NOTES + 1))


def sandbox(binary: str, directory: Path, times: int = 15) -> dict[str, float]:
    (directory / "key").write_text("bench")
    arguments = [binary, "sandbox-runtime", "--listen", "127.0.0.1:0", "--api-key-file", str(directory / "key")]
    with running([*arguments, "--state-dir", str(directory / "sandboxes")], stdout=subprocess.PIPE, text=True) as runtime:
        url, key = runtime.stdout.readline().strip().rstrip("/"), {"OPEN-SANDBOX-API-KEY": "bench"}
        order = {"image": {"uri": "vitrine/code"}, "entrypoint": ["tail", "-f", "/dev/null"], "resourceLimits": {}, "timeout": 600}

        def create() -> tuple[str, str, dict[str, str]]:
            made = call(url, "POST", "/v1/sandboxes", key, order)
            endpoint = call(url, "GET", f"/v1/sandboxes/{made['id']}/endpoints/44772", key)
            return made["id"], "http://" + endpoint["endpoint"], endpoint["headers"]

        def run(inside: tuple[str, str, dict[str, str]], command: str) -> None:
            host, _, prefix = inside[1].split("//")[1].partition("/")
            call(f"http://{host}", "POST", f"/{prefix}/command" if prefix else "/command", inside[2], {"command": command})

        def fresh(command: str) -> float:
            begin = time.monotonic()
            inside = create()
            run(inside, command)
            took = (time.monotonic() - begin) * 1000
            call(url, "DELETE", f"/v1/sandboxes/{inside[0]}", key)
            return took

        def echo(inside: tuple[str, str, dict[str, str]]) -> float:
            begin = time.monotonic()
            run(inside, "echo hello")
            return (time.monotonic() - begin) * 1000

        inside = create()
        run(inside, "true")
        return {
            "shell": statistics.median(fresh("true") for _ in range(times)),
            "python": statistics.median(fresh("python3 -c 'print(1)'") for _ in range(times)),
            "echo": statistics.median(echo(inside) for _ in range(times)),
        }


def main() -> None:
    binary = os.path.abspath(sys.argv[1])
    rows: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        starts = []
        for _ in range(7):
            server = Server(binary, directory)
            starts.append(server.ready_ms)
            server.stop()
        rows.append(("ready on an empty data directory", f"{statistics.median(starts):.0f} ms", "300 ms"))
        server = Server(binary, directory)
        try:
            time.sleep(3)
            rows.append(("resident memory when idle", f"{server.rss_mib():.1f} MiB", "40 MiB"))
            rows.append(("first token to subscriber, median", f"{first_token_ms(server):.2f} ms", "5 ms"))
            arguments = [binary, "scripted-model", "--listen", "127.0.0.1:0"]
            with running(arguments, stdout=subprocess.PIPE, text=True) as model:
                agent = server.agent("burst", model.stdout.readline().strip())
                iteration_cpu_ms(server, agent, 1)
                rows.append((f"CPU of an iteration ({DELTAS} deltas, a tool), alone", f"{iteration_cpu_ms(server, agent, 1):.2f} ms", "2.5 ms"))
                rows.append(("the same with 32 running", f"{iteration_cpu_ms(server, agent, 32):.2f} ms", "1.2 ms"))
            rows.append(("resident memory after that", f"{server.rss_mib():.1f} MiB", ""))
        finally:
            server.stop()
        measured = sandbox(binary, directory)
        rows.append(("shell command in a fresh sandbox", f"{measured['shell']:.1f} ms", "30 ms"))
        rows.append(("Python in a fresh sandbox", f"{measured['python']:.1f} ms", "60 ms"))
        rows.append(("echo in a running sandbox", f"{measured['echo']:.1f} ms", "5 ms"))
    rows.append(("size of the binary", f"{os.path.getsize(binary) / 2**20:.1f} MiB", ""))
    for what, measured_as, allowed in rows:
        print(f"{what:<48} {measured_as:>12}   {'allowed ' + allowed if allowed else ''}")


if __name__ == "__main__":
    main()
