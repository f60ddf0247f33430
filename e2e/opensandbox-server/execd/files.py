"""Files: what is there, and what is moved, changed or removed."""

import fnmatch
import grp
import os
import pwd
import re
import shutil
import stat
from datetime import datetime
from typing import Any

from wire import Exchange, Refusal


def expand(path: str) -> str:
    """A path as execd takes it: `~` and variables of its own environment are replaced."""
    path = os.path.expanduser(path)
    for name in re.findall(r"\$\{?(\w+)\}?", path):
        if name not in os.environ:
            raise Refusal(500, "RUNTIME_ERROR", f"variable {name} is not set")
    return os.path.abspath(os.path.expandvars(path))


def missing(path: str) -> Refusal:
    return Refusal(404, "FILE_NOT_FOUND", f"file not found. {path}")


def failed(error: OSError) -> Refusal:
    return Refusal(500, "RUNTIME_ERROR", f"error handling file: {error.strerror or error}")


def mode_bits(digits: Any) -> int | None:
    """The wire has a number whose decimal digits read as octal."""
    if not digits:
        return None
    try:
        return int(str(digits), 8) & 0o777
    except ValueError as error:
        raise Refusal(500, "RUNTIME_ERROR", f"mode {digits} is not octal") from error


def name_of(lookup: Any, number: int) -> str:
    try:
        return lookup(number)[0]
    except KeyError:
        return str(number)


def describe(path: str) -> dict[str, Any]:
    found = os.lstat(path)
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
    at = lambda seconds: datetime.fromtimestamp(seconds).astimezone().isoformat()  # noqa: E731
    return {
        "path": path,
        "type": kinds.get(stat.S_IFMT(found.st_mode), "other"),
        "size": found.st_size,
        "modified_at": at(found.st_mtime),
        "created_at": at(found.st_ctime),
        "owner": name_of(pwd.getpwuid, found.st_uid),
        "group": name_of(grp.getgrgid, found.st_gid),
        "mode": int(f"{found.st_mode & 0o777:o}"),
    }


def own(path: str, wanted: dict[str, Any]) -> None:
    mode = mode_bits(wanted.get("mode"))
    try:
        if mode is not None:
            os.chmod(path, mode)
        owner, group = wanted.get("owner") or None, wanted.get("group") or None
        if owner or group:
            shutil.chown(path, owner, group)
    except LookupError as error:
        raise Refusal(500, "RUNTIME_ERROR", str(error)) from error
    except OSError as error:
        raise failed(error) from error


def objects(exchange: Exchange) -> dict[str, dict[str, Any]]:
    body = exchange.body.json()
    if not isinstance(body, dict) or not all(isinstance(one, dict) for one in body.values()):
        raise Refusal(400, "INVALID_REQUEST_BODY", "the request is no map of objects")
    return body


def info(exchange: Exchange) -> None:
    found = {}
    for path in exchange.query.get("path", []):
        try:
            found[path] = describe(expand(path))
        except FileNotFoundError as error:
            raise missing(path) from error
    exchange.json(found)


def search(exchange: Exchange) -> None:
    root, pattern = expand(exchange.first("path") or "."), exchange.first("pattern") or "**"
    if not os.path.lexists(root):
        raise missing(root)
    found = []
    for directory, directories, names in os.walk(root):
        directories.sort()
        found += [os.path.join(directory, name) for name in sorted(names) if fnmatch.fnmatchcase(name, pattern)]
    exchange.json([describe(path) for path in found])


def listing(exchange: Exchange) -> None:
    root, depth = expand(exchange.first("path") or "."), int(exchange.first("depth") or 1)
    if not os.path.lexists(root):
        raise missing(root)
    if os.path.islink(root) or not os.path.isdir(root):
        raise Refusal(400, "INVALID_FILE", f"{root} is no directory")
    exchange.json(below(root, depth))


def below(directory: str, depth: int) -> list[dict[str, Any]]:
    found = []
    for name in sorted(os.listdir(directory)) if depth > 0 else []:
        path = os.path.join(directory, name)
        found.append(describe(path))
        if os.path.isdir(path) and not os.path.islink(path):
            found += below(path, depth - 1)
    return found


def make_directories(exchange: Exchange) -> None:
    for path, wanted in objects(exchange).items():
        path = expand(path)
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise failed(error) from error
        own(path, wanted)
    exchange.reply(200)


def delete_directories(exchange: Exchange) -> None:
    for path in exchange.query.get("path", []):
        shutil.rmtree(expand(path), ignore_errors=True)
    exchange.reply(200)


def delete_files(exchange: Exchange) -> None:
    for path in exchange.query.get("path", []):
        path = expand(path)
        if os.path.isdir(path):
            raise Refusal(500, "RUNTIME_ERROR", f"{path} is a directory")
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise failed(error) from error
    exchange.reply(200)


def move(exchange: Exchange) -> None:
    body = exchange.body.json()
    if not isinstance(body, list) or not all(isinstance(one, dict) and "src" in one and "dest" in one for one in body):
        raise Refusal(400, "INVALID_REQUEST_BODY", "the request is no list of moves")
    for one in body:
        source, target = expand(one["src"]), expand(one["dest"])
        if not os.path.lexists(source):
            raise missing(source)
        if os.path.lexists(target):
            raise Refusal(500, "RUNTIME_ERROR", f"{target} exists")
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.move(source, target)
        except OSError as error:
            raise failed(error) from error
    exchange.reply(200)


def permissions(exchange: Exchange) -> None:
    for path, wanted in objects(exchange).items():
        path = expand(path)
        if not os.path.lexists(path):
            raise missing(path)
        own(path, wanted)
    exchange.reply(200)


def replace(exchange: Exchange) -> None:
    counts = {}
    for path, change in objects(exchange).items():
        if not change.get("old"):
            raise Refusal(400, "INVALID_REQUEST_BODY", "old is empty")
        target = expand(path)
        if not os.path.isfile(target):
            raise missing(path)
        old, new = change["old"].encode(), change.get("new", "").encode()
        with open(target, "r+b") as file:
            data = file.read()
            counts[path] = {"replacedCount": data.count(old)}
            file.seek(0)
            file.write(data.replace(old, new))
            file.truncate()
    if exchange.first("verbose") == "true":
        exchange.json(counts)
    else:
        exchange.reply(200)


ROUTES = [
    ("GET", r"/files/info", info),
    ("GET", r"/files/search", search),
    ("GET", r"/directories/list", listing),
    ("POST", r"/directories", make_directories),
    ("DELETE", r"/directories", delete_directories),
    ("DELETE", r"/files", delete_files),
    ("POST", r"/files/mv", move),
    ("POST", r"/files/permissions", permissions),
    ("POST", r"/files/replace", replace),
]
