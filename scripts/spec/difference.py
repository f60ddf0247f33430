"""A difference is one sentence about what another set of specifications changes for this repository."""

from typing import Any, Iterator

Spec = dict[str, Any]


def between(pinned: Spec, given: Spec) -> Iterator[str]:
    """What `given` changes of the inventory `pinned`; nothing when both are the same."""
    for plane, before in pinned.items():
        after = given.get(plane)
        if after is None:
            yield f"{before['file']}: missing"
            continue
        for name, one in before["operations"].items():
            yield from operation(f"{plane}: {name}", one, after["operations"].get(name))
        for name, one in before["schemas"].items():
            yield from schema(f"{plane}: {name}", one, after["schemas"].get(name))


def operation(name: str, before: Spec, after: Spec | None) -> Iterator[str]:
    if after is None:
        yield f"{name}: removed"
        return
    for parameter, one in before["parameters"].items():
        other = after["parameters"].get(parameter)
        if other is None:
            yield f"{name}: parameter `{parameter}` removed"
            continue
        yield from changed(f"{name}: type of parameter `{parameter}`", one["type"], other["type"])
        if other["required"] and not one["required"]:
            yield f"{name}: parameter `{parameter}` became required"
    for parameter in after["parameters"].keys() - before["parameters"].keys():
        kind = "required parameter" if after["parameters"][parameter]["required"] else "parameter"
        yield f"{name}: new {kind} `{parameter}`"
    yield from content(f"{name}: body", before["body"], after["body"])
    if after["body_required"] and not before["body_required"]:
        yield f"{name}: body became required"
    for status, one in before["responses"].items():
        if status not in after["responses"]:
            yield f"{name}: answer {status} removed"
        else:
            yield from content(f"{name}: answer {status}", one, after["responses"][status])
    for status in after["responses"].keys() - before["responses"].keys():
        yield f"{name}: new answer {status}"


def content(name: str, before: Spec, after: Spec) -> Iterator[str]:
    for kind in before.keys() | after.keys():
        yield from changed(f"{name} as {kind}", before.get(kind), after.get(kind))


def schema(name: str, before: Spec, after: Spec | None) -> Iterator[str]:
    if after is None:
        yield f"{name}: removed"
        return
    yield from changed(f"{name}: type", before.get("type"), after.get("type"))
    yield from values(f"{name}: value", before.get("words", []), after.get("words", []))
    for member, one in before["members"].items():
        other = after["members"].get(member)
        if other is None:
            yield f"{name}.{member}: removed"
            continue
        yield from changed(f"{name}.{member}: type", one["type"], other["type"])
        yield from values(f"{name}.{member}: enum value", one.get("enum", []), other.get("enum", []))
    for member in sorted(set(after["required"]) - set(before["required"])):
        yield f"{name}.{member}: new required member"
    for member in sorted(set(before["required"]) - set(after["required"])):
        yield f"{name}.{member}: no longer required"
    for member in sorted(set(after["others"]) - set(before["others"])):
        why = "specified at last, and in use already" if member in before.get("beyond", []) else "new member"
        yield f"{name}.{member}: {why}"
    for member in sorted(set(before["others"]) - set(after["others"])):
        yield f"{name}.{member}: removed, and not in use"


def values(name: str, before: list[str], after: list[str]) -> Iterator[str]:
    for value in sorted(set(after) - set(before)):
        yield f"{name} `{value}` added"
    for value in sorted(set(before) - set(after)):
        yield f"{name} `{value}` removed"


def changed(name: str, before: str | None, after: str | None) -> Iterator[str]:
    if before != after:
        yield f"{name} changed from `{before or 'nothing'}` to `{after or 'nothing'}`"
