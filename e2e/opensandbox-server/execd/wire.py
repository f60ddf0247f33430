"""The HTTP side of the stand-in: requests with bounded bodies, JSON answers, and streams of events."""

import json
import re
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Iterable
from urllib.parse import parse_qs, urlsplit

MAX_JSON_BYTES = 4 * 1024 * 1024
WAIT_FOR_THREAD_SECONDS = 0.01
Route = tuple[str, str, Callable[..., None]]


class Refusal(Exception):
    """An answer with a code and a message."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Body:
    """The bytes of a request, chunked or with a length."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.file = handler.rfile
        self.chunked = handler.headers.get("Transfer-Encoding", "").lower() == "chunked"
        self.left = 0 if self.chunked else int(handler.headers.get("Content-Length") or 0)
        self.ended = not self.chunked and self.left == 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end."""
        if self.ended:
            return b""
        if self.chunked and self.left == 0:
            self.left = int(self.file.readline().split(b";")[0].strip() or b"0", 16)
            if self.left == 0:
                while self.file.readline().strip():
                    pass
                self.ended = True
                return b""
        data = self.file.read(min(size, self.left))
        self.left -= len(data)
        if not data:
            raise ConnectionError("the body is cut")
        if self.left == 0:
            if self.chunked:
                self.file.readline()
            else:
                self.ended = True
        return data

    def json(self) -> Any:
        data = b""
        while piece := self.read(MAX_JSON_BYTES):
            data += piece
            if len(data) > MAX_JSON_BYTES:
                raise Refusal(400, "INVALID_REQUEST_BODY", "request body is too large")
        if not data:
            return None
        try:
            # Whatever follows the first value is ignored.
            return json.JSONDecoder().raw_decode(data.decode("utf-8", "replace").lstrip())[0]
        except ValueError as error:
            raise Refusal(400, "INVALID_REQUEST_BODY", f"error parsing request: {error}") from error


class Exchange:
    """One request and the answer to it."""

    def __init__(self, handler: BaseHTTPRequestHandler, path: str, query: str) -> None:
        self.handler, self.path, self.query_text = handler, path, query
        self.query = parse_qs(query, keep_blank_values=True)
        self.headers = handler.headers
        self.body = Body(handler)
        self.started = False

    def first(self, name: str, default: str | None = None) -> str | None:
        return self.query.get(name, [default])[0]

    def head(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        self.started = True
        self.handler.send_response(status)
        for name, value in headers:
            self.handler.send_header(name, value)
        if not self.body.ended:
            # What is left of the request would be taken for the next one.
            self.handler.close_connection = True
            self.handler.send_header("Connection", "close")
        self.handler.end_headers()

    def reply(self, status: int, data: bytes = b"", headers: Iterable[tuple[str, str]] = ()) -> None:
        self.head(status, [*headers, ("Content-Length", str(len(data)))])
        self.handler.wfile.write(data)

    def json(self, value: Any, status: int = 200) -> None:
        self.reply(status, compact(value), [("Content-Type", "application/json")])

    def text(self, status: int, text: str) -> None:
        self.reply(status, text.encode(), [("Content-Type", "text/plain; charset=utf-8")])

    def stream(self) -> "Stream":
        self.head(
            200,
            [
                ("Content-Type", "text/event-stream"),
                ("Cache-Control", "no-cache"),
                ("X-Accel-Buffering", "no"),
                ("Transfer-Encoding", "chunked"),
            ],
        )
        return Stream(self.handler)


class Stream:
    """Frames of events: one compact JSON object and a blank line each."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.handler = handler

    def event(self, kind: str, **members: Any) -> None:
        self.events([(kind, members)])

    def events(self, events: Iterable[tuple[str, dict[str, Any]]]) -> None:
        now = int(time.time() * 1000)
        self.raw(b"".join(compact({"type": kind, **members, "timestamp": now}) + b"\n\n" for kind, members in events))

    def raw(self, data: bytes) -> None:
        if data:
            self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.handler.wfile.flush()

    def end(self) -> None:
        self.handler.wfile.write(b"0\r\n\r\n")
        self.handler.wfile.flush()


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def serve(port: int, routes: list[Route], forward: Callable[[Exchange, int, str], None]) -> None:
    table = [(method, re.compile(pattern), answer) for method, pattern, answer in routes]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def answer(self) -> None:
            parts = urlsplit(self.path)
            path = parts.path
            # The server reaches execd through execd's own proxy.
            while path.startswith(f"/proxy/{port}/"):
                path = path.removeprefix(f"/proxy/{port}")
            exchange = Exchange(self, path, parts.query)
            try:
                dispatch(exchange, self.command)
            except Refusal as refusal:
                if not exchange.started:
                    exchange.json({"code": refusal.code, "message": refusal.message}, refusal.status)
            except ConnectionError:
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

    def dispatch(exchange: Exchange, method: str) -> None:
        if proxied := re.fullmatch(r"/proxy/(\d+)(/.*)?", exchange.path):
            return forward(exchange, int(proxied.group(1)), proxied.group(2) or "/")
        for wanted, pattern, answer in table:
            if wanted == method and (found := pattern.fullmatch(exchange.path)):
                return answer(exchange, **found.groupdict())
        return exchange.text(404, "404 page not found")

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def server_bind(self) -> None:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            super().server_bind()

        def process_request(self, request: Any, client_address: Any) -> None:
            # Code in the sandbox may hold all processes that it has a right to: whoever calls then waits for a thread
            # and is not cut off.
            while True:
                try:
                    return super().process_request(request, client_address)
                except RuntimeError:
                    time.sleep(WAIT_FOR_THREAD_SECONDS)

    Server(("0.0.0.0", port), Handler).serve_forever()
