"""Contents of files: uploads in pairs of parts, downloads with ranges. Nothing is held whole in memory."""

import json
import os
import re
import shutil
import tempfile
from email.message import Message
from typing import IO, Any, Iterator
from urllib.parse import quote

import files
from wire import Body, Exchange, Refusal

PIECE_BYTES = 1 << 18


def upload(exchange: Exchange) -> None:
    kind = Message()
    kind["Content-Type"] = exchange.headers.get("Content-Type", "")
    boundary = kind.get_param("boundary")
    if kind.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
        raise Refusal(400, "INVALID_FILE", "the request is no multipart form")
    metadata: list[dict[str, Any]] = []
    contents: list[IO[bytes]] = []
    with tempfile.TemporaryDirectory() as directory:
        for name, filename, data in parts(exchange.body, boundary.encode(), directory):
            # Without a file name a part is a plain field, which nobody looks for.
            if filename and name == "metadata":
                metadata.append(read_metadata(data))
            elif filename and name == "file":
                contents.append(data)
        if not metadata or len(metadata) != len(contents):
            raise Refusal(400, "INVALID_FILE_METADATA", "metadata and file parts are not pairs")
        for wanted, data in zip(metadata, contents):
            place(wanted, data)
    exchange.reply(200)


def read_metadata(data: IO[bytes]) -> dict[str, Any]:
    try:
        wanted = json.loads(data.read())
    except ValueError as error:
        raise Refusal(400, "INVALID_FILE_METADATA", "metadata is no JSON") from error
    if not isinstance(wanted, dict) or not isinstance(wanted.get("path"), str) or not wanted["path"]:
        raise Refusal(400, "INVALID_FILE_METADATA", "metadata has no path")
    return wanted


def place(wanted: dict[str, Any], data: IO[bytes]) -> None:
    target = files.expand(wanted["path"])
    files.mode_bits(wanted.get("mode"))
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        # Its place may be on the same file system; then nothing is copied.
        os.chmod(data.name, 0o644)
        if os.path.isdir(target):
            raise IsADirectoryError(21, "is a directory")
        data.close()
        shutil.move(data.name, target)
    except OSError as error:
        raise files.failed(error) from error
    files.own(target, wanted)


def parts(body: Body, boundary: bytes, directory: str) -> Iterator[tuple[str, str | None, IO[bytes]]]:
    """Name, file name and content of each part; the content is a file at its beginning."""
    end = b"\r\n--" + boundary
    # The first boundary has no line before it.
    rest = b"\r\n"
    rest = skip(body, rest, end)
    while rest[:2] != b"--":
        head, rest = until(body, rest, b"\r\n\r\n")
        header = Message()
        for line in head.strip().split(b"\r\n"):
            name, _, value = line.decode("utf-8", "replace").partition(":")
            header[name] = value.strip()
        file: IO[bytes] = tempfile.NamedTemporaryFile(dir=directory, delete=False)
        rest = copy(body, rest, end, file)
        file.flush()
        file.seek(0)
        name = header.get_param("name", header="content-disposition")
        filename = header.get_filename()
        yield str(name), filename, file


def skip(body: Body, rest: bytes, mark: bytes) -> bytes:
    with tempfile.TemporaryFile() as nothing:
        return copy(body, rest, mark, nothing)


def until(body: Body, rest: bytes, mark: bytes) -> tuple[bytes, bytes]:
    with tempfile.TemporaryFile() as file:
        rest = copy(body, rest, mark, file)
        file.seek(0)
        return file.read(), rest


def copy(body: Body, rest: bytes, mark: bytes, file: IO[bytes]) -> bytes:
    """Copies up to `mark`; returns what follows it, two bytes at least."""
    while (found := rest.find(mark)) < 0:
        keep = len(mark) - 1
        if len(rest) > keep:
            file.write(rest[:-keep])
            rest = rest[-keep:]
        rest += more(body)
    file.write(rest[:found])
    rest = rest[found + len(mark) :]
    while len(rest) < 2:
        rest += more(body)
    return rest


def more(body: Body) -> bytes:
    data = body.read(PIECE_BYTES)
    if not data:
        raise Refusal(400, "INVALID_FILE", "the form has no end")
    return data


def download(exchange: Exchange) -> None:
    name = exchange.first("path")
    if not name:
        raise Refusal(400, "MISSING_QUERY", "missing query parameter 'path'")
    path = files.expand(name)
    if not os.path.exists(path):
        raise files.missing(name)
    if not os.path.isfile(path):
        raise Refusal(500, "RUNTIME_ERROR", f"{name} is no regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        wanted = exchange.headers.get("Range")
        begin, end = span(wanted, size) if wanted else (0, size)
        last = os.path.basename(path)
        plain = re.sub(r'[^\x20-\x7e]|["\\]', "_", last)
        headers = [
            ("Content-Type", "application/octet-stream"),
            ("Content-Disposition", f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(last)}"),
            ("Content-Length", str(end - begin)),
        ]
        if wanted:
            headers.append(("Content-Range", f"bytes {begin}-{end - 1}/{size}"))
        exchange.head(206 if wanted else 200, headers)
        file.seek(begin)
        left = end - begin
        while left and (data := file.read(min(left, PIECE_BYTES))):
            exchange.handler.wfile.write(data)
            left -= len(data)


def span(text: str, size: int) -> tuple[int, int]:
    """The first range of the header, as begin and end."""
    found = re.match(r"bytes=(\d*)-(\d*)", text)
    if found and (found.group(1) or found.group(2)):
        if not found.group(1):
            begin, end = max(0, size - int(found.group(2))), size
        else:
            begin = int(found.group(1))
            end = min(size, int(found.group(2)) + 1) if found.group(2) else size
        if begin < end:
            return begin, end
    raise Refusal(416, "UNKNOWN", "the range cannot be satisfied")


ROUTES = [("POST", r"/files/upload", upload), ("GET", r"/files/download", download)]
