#!/usr/bin/env python3
"""The gate before OpenSandbox's specifications: what is pinned, what of it is in use, and what another set changes.

    gate.py generate DIR   writes sandbox/spec.inventory.json from the specifications in DIR, which must be the pinned ones
    gate.py verify DIR     compares the specifications in DIR with lock and inventory, and names each difference
    gate.py matrix         compares sandbox/spec.lock.toml with docs/sandbox-compatibility.md, both ways

`scripts/spec.sh` starts it with the one package that it needs.
"""

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Iterator

import difference
import images
import inventory

ROOT = Path(__file__).resolve().parent.parent.parent
Spec = dict[str, Any]


class Gate:
    """The files that pin the specifications, below one root."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.inventory_file = root / "sandbox/spec.inventory.json"
        self.lock: Spec = tomllib.loads((root / "sandbox/spec.lock.toml").read_text(encoding="utf-8"))
        self.subset: Spec = tomllib.loads((root / "sandbox/spec.subset.toml").read_text(encoding="utf-8"))

    def changed_files(self, directory: Path) -> Iterator[str]:
        for name, pinned in self.lock["specs"].items():
            file = directory / name
            found = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
            if found is None:
                yield f"{name}: missing"
            elif found != pinned:
                yield f"{name}: SHA-256 is {found}, and {pinned} is pinned"

    def generate(self, directory: Path) -> list[str]:
        """Writes the inventory; returns why it cannot."""
        faults = list(self.changed_files(directory))
        made = {} if faults else inventory.of_directory(directory, self.subset)
        faults += unknown(made)
        if not faults:
            text = json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            self.inventory_file.write_text(text, encoding="utf-8")
        return faults

    def verify(self, directory: Path) -> list[str]:
        """Each difference between the specifications in a directory and what is pinned."""
        pinned = json.loads(self.inventory_file.read_text(encoding="utf-8"))
        given = inventory.of_directory(directory, self.subset)
        files = list(self.changed_files(directory))
        return files + [one for one in difference.between(pinned, given) if one not in files]

    def matrix(self) -> list[str]:
        """Pins that only one of lock and matrix knows, and tags of images that are not those of their Dockerfiles."""
        text = (self.root / "docs/sandbox-compatibility.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| pin \| ([^|]+?) \| `([^`|]+)` \|", text, re.MULTILINE)
        lock, matrix = set(pins(self.lock)), set(rows)
        faults = [f"the matrix does not have {name} {value}" for name, value in sorted(lock - matrix)]
        faults += [f"the lock does not have {name} {value}" for name, value in sorted(matrix - lock)]
        for name in images.IMAGES:
            if (tag := images.tag(name, self.root)) != (pinned := self.lock["images"].get(name)):
                faults.append(f"image {name} is {tag} by its content, and {pinned} is pinned")
        return faults


def pins(lock: Spec) -> Iterator[tuple[str, str]]:
    yield "commit", lock["source"]["commit"]
    yield from lock["specs"].items()
    for name in ("server", "execd", "egress"):
        for version in lock[name]["versions"]:
            yield name, version
    for name, tag in lock["images"].items():
        yield f"image {name}", tag


def unknown(made: Spec) -> list[str]:
    """Entries of the subset that the pinned specifications do not have, or have at last."""
    faults = []
    for plane, one in made.items():
        faults += [f"{plane}: {name} is not specified" for name, found in one["operations"].items() if found is None]
        for name, found in one["schemas"].items():
            if found is None:
                faults.append(f"{plane}: {name} is not specified")
                continue
            missing = [member for member, kind in found["members"].items() if kind is None]
            faults += [f"{plane}: {name}.{member} is not specified" for member in missing]
            both = set(found.get("beyond", [])) & set(found["others"])
            faults += [f"{plane}: {name}.{member} is specified; it is not `beyond`" for member in sorted(both)]
    return faults


def main(arguments: list[str]) -> int:
    match arguments:
        case ["generate", directory]:
            faults = Gate().generate(Path(directory))
        case ["verify", directory]:
            faults = Gate().verify(Path(directory))
        case ["matrix"]:
            faults = Gate().matrix()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
