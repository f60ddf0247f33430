"""An inventory is what this repository uses of OpenSandbox's specifications: operations, members, types, enums.

Rule: it is made from the specifications and the list of what is in use, and from nothing else, so that the same
specifications always give the same file. What is in use and not there is reported, never left out.
"""

import re
from pathlib import Path
from typing import Any

import yaml

Spec = dict[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
# Values of an open set are listed in its description, as "- Running: Sandbox is running".
WORD = re.compile(r"^\s*- ([A-Z][A-Za-z]+):", re.MULTILINE)


def of_directory(directory: Path, subset: Spec) -> Spec:
    """The inventory of all planes of the subset, from the files of a directory. A missing file is `None`."""
    return {plane: of_file(directory / used["file"], used) for plane, used in subset.items()}


def of_file(file: Path, used: Spec) -> Spec | None:
    if not file.is_file():
        return None
    spec = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {
        "file": used["file"],
        "operations": {name: operation(spec, name) for name in used["operations"]},
        "schemas": {
            name: schema(spec, name, members, used.get("beyond", {}).get(name, []))
            for name, members in used["members"].items()
        },
    }


def operation(spec: Spec, name: str) -> Spec | None:
    """What a caller of "GET /path" must know: parameters, body, and what each answer holds."""
    method, path = name.split(" ")
    item = spec["paths"].get(path, {})
    found = item.get(method.lower()) if method.lower() in METHODS else None
    if found is None:
        return None
    parameters = [resolve(spec, one) for one in [*item.get("parameters", []), *found.get("parameters", [])]]
    body = resolve(spec, found.get("requestBody", {}))
    return {
        "parameters": {
            f"{one['in']} {one['name']}": {"type": type_of(one.get("schema", {})), "required": one.get("required", False)}
            for one in parameters
        },
        "body": contents(body),
        "body_required": body.get("required", False),
        "responses": {str(status): contents(resolve(spec, one)) for status, one in found["responses"].items()},
    }


def contents(body: Spec) -> Spec:
    return {kind: type_of(one.get("schema", {})) for kind, one in body.get("content", {}).items()}


def schema(spec: Spec, name: str, members: list[str], beyond: list[str]) -> Spec | None:
    """The members in use with their types; those that are required; the names of all others.

    `beyond` names members that are in use although the pinned specification does not have them.
    """
    found = spec["components"]["schemas"].get(name)
    if found is None:
        return None
    every = flatten(found)
    inventory: Spec = {
        "required": sorted(found.get("required", [])),
        "members": {member: every.get(member) for member in members},
        "others": sorted(set(every) - set(members)),
    }
    if "properties" not in found:
        inventory["type"] = type_of(found)
    if words := WORD.findall(found.get("description", "")):
        inventory["words"] = words
    if beyond:
        inventory["beyond"] = sorted(beyond)
    return inventory


def flatten(found: Spec, prefix: str = "") -> dict[str, Spec]:
    """Members by dotted path, with those of inline objects."""
    members: dict[str, Spec] = {}
    for name, one in found.get("properties", {}).items():
        members[prefix + name] = member(one)
        members |= flatten(one, f"{prefix}{name}.")
    return members


def member(one: Spec) -> Spec:
    described: Spec = {"type": type_of(one)}
    if "enum" in one:
        described["enum"] = sorted(map(str, one["enum"]))
    return described


def type_of(one: Spec) -> str:
    """A type in one line, such as `array of map of FileInfo` or `string (date-time)`."""
    if "$ref" in one:
        return one["$ref"].rsplit("/", 1)[-1]
    for union in ("oneOf", "anyOf", "allOf"):
        if union in one:
            return f" {union} ".join(map(type_of, one[union]))
    kind = one.get("type", "any")
    if isinstance(kind, list):
        kind = " | ".join(kind)
    if kind == "array":
        return f"array of {type_of(one.get('items', {}))}"
    if kind == "object" and isinstance(one.get("additionalProperties"), dict):
        return f"map of {type_of(one['additionalProperties'])}"
    if "format" in one:
        kind += f" ({one['format']})"
    return f"{kind} | null" if one.get("nullable") else kind


def resolve(spec: Spec, one: Spec) -> Spec:
    if "$ref" not in one:
        return one
    target: Any = spec
    for step in one["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return target
