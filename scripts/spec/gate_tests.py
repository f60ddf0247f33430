"""The gate names each change of the specifications, and lock and matrix cannot drift apart."""

import hashlib
import json
import os
import re
import shutil
import tempfile
import tomllib
import unittest
from pathlib import Path

import gate
import images

SPEC = """\
paths:
  /things:
    parameters:
      - $ref: '#/components/parameters/Limit'
    get:
      responses:
        "200":
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Thing'
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              $ref: '#/components/schemas/Thing'
      responses:
        "202":
          description: taken
components:
  parameters:
    Limit:
      name: limit
      in: query
      schema:
        type: integer
  schemas:
    Thing:
      type: object
      required: [id]
      properties:
        id:
          type: string
        kind:
          type: string
          enum: [file, directory]
        size:
          type: integer
          format: int64
        login:
          type: object
          properties:
            name:
              type: string
        spare:
          type: string
    State:
      type: string
      description: |
        - Running: it runs
        - Failed: it does not
"""

SUBSET = """\
[plane]
file = "plane.yml"
operations = ["GET /things", "POST /things"]
[plane.members]
Thing = ["id", "kind", "size", "login", "login.name"]
State = []
[plane.beyond]
Thing = ["later"]
"""


class SmallGate(unittest.TestCase):
    """A gate before one small specification."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.specs = self.root / "specs"
        for name in ("sandbox", "docs", "specs"):
            (self.root / name).mkdir()
        shutil.copytree(gate.ROOT / "deploy/sandbox-images", self.root / "deploy/sandbox-images")
        self.write("sandbox/spec.subset.toml", SUBSET)
        self.write("specs/plane.yml", SPEC)
        tags = "".join(f'{name} = "{images.tag(name)}"\n' for name in images.IMAGES)
        pinned = hashlib.sha256(SPEC.encode()).hexdigest()
        versions = "".join(f'[{name}]\nversions = ["1"]\n' for name in ("server", "execd", "egress"))
        self.lock = f'[source]\ncommit = "abc"\n[specs]\n"plane.yml" = "{pinned}"\n{versions}[images]\n{tags}'
        self.write("sandbox/spec.lock.toml", self.lock)

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text, encoding="utf-8")

    def gate(self) -> gate.Gate:
        return gate.Gate(self.root)

    def differences(self, old: str, new: str) -> list[str]:
        """What the gate says when `old` is `new` in the specification, without the changed hash, which it must name."""
        self.assertIn(old, SPEC)
        self.write("specs/plane.yml", SPEC)
        self.assertEqual(self.gate().generate(self.specs), [])
        self.write("specs/plane.yml", SPEC.replace(old, new))
        said = self.gate().verify(self.specs)
        self.assertRegex(said[0], r"^plane\.yml: SHA-256 is [0-9a-f]{64}, and [0-9a-f]{64} is pinned$")
        return said[1:]


class Generating(SmallGate):
    def test_the_same_specifications_give_the_same_file(self) -> None:
        self.assertEqual(self.gate().generate(self.specs), [])
        first = self.gate().inventory_file.read_bytes()
        self.assertEqual(self.gate().generate(self.specs), [])
        self.assertEqual(self.gate().inventory_file.read_bytes(), first)
        thing = json.loads(first)["plane"]["schemas"]["Thing"]
        self.assertEqual(thing["members"]["kind"], {"type": "string", "enum": ["directory", "file"]})
        self.assertEqual((thing["others"], thing["beyond"]), (["spare"], ["later"]))
        self.assertEqual(self.gate().verify(self.specs), [])

    def test_only_the_pinned_specifications_are_taken(self) -> None:
        self.write("specs/plane.yml", SPEC + "\n")
        self.assertIn("is pinned", self.gate().generate(self.specs)[0])
        self.assertFalse(self.gate().inventory_file.exists())

    def test_what_is_in_use_must_be_specified(self) -> None:
        self.write("sandbox/spec.subset.toml", SUBSET.replace('"size"', '"weight"').replace("POST /things", "PUT /things"))
        self.assertEqual(
            self.gate().generate(self.specs),
            ["plane: PUT /things is not specified", "plane: Thing.weight is not specified"],
        )

    def test_what_is_specified_is_not_beyond(self) -> None:
        self.write("sandbox/spec.subset.toml", SUBSET.replace('"later"', '"spare"'))
        self.assertEqual(self.gate().generate(self.specs), ["plane: Thing.spare is specified; it is not `beyond`"])


class Verifying(SmallGate):
    def test_names_a_changed_byte(self) -> None:
        self.assertEqual(self.differences("\n    State:", "\n\n    State:"), [])

    def test_names_a_missing_file(self) -> None:
        self.assertEqual(self.gate().generate(self.specs), [])
        (self.specs / "plane.yml").unlink()
        self.assertEqual(self.gate().verify(self.specs), ["plane.yml: missing"])

    def test_names_a_removed_path(self) -> None:
        self.assertEqual(
            self.differences("  /things:", "  /objects:"), ["plane: GET /things: removed", "plane: POST /things: removed"]
        )

    def test_names_a_removed_method(self) -> None:
        self.assertEqual(self.differences("    post:", "    put:"), ["plane: POST /things: removed"])

    def test_names_a_renamed_member(self) -> None:
        self.assertEqual(
            self.differences("        size:", "        bytes:"), ["plane: Thing.size: removed", "plane: Thing.bytes: new member"]
        )

    def test_names_a_changed_type(self) -> None:
        self.assertEqual(
            self.differences("format: int64", "format: int32"),
            ["plane: Thing.size: type changed from `integer (int64)` to `integer (int32)`"],
        )

    def test_names_a_changed_type_inside_an_object(self) -> None:
        self.assertEqual(
            self.differences("name:\n              type: string", "name:\n              type: integer"),
            ["plane: Thing.login.name: type changed from `string` to `integer`"],
        )

    def test_names_a_new_required_member(self) -> None:
        self.assertEqual(self.differences("[id]", "[id, spare]"), ["plane: Thing.spare: new required member"])
        self.assertEqual(self.differences("[id]", "[]"), ["plane: Thing.id: no longer required"])

    def test_names_enum_values(self) -> None:
        self.assertEqual(
            self.differences("[file, directory]", "[file, folder]"),
            ["plane: Thing.kind: enum value `folder` added", "plane: Thing.kind: enum value `directory` removed"],
        )

    def test_names_values_of_an_open_set(self) -> None:
        self.assertEqual(
            self.differences("- Failed:", "- Lost:"),
            ["plane: State: value `Lost` added", "plane: State: value `Failed` removed"],
        )

    def test_names_parameters_and_answers(self) -> None:
        required = self.differences("in: query", "in: query\n      required: true")
        self.assertEqual(required[0], "plane: GET /things: parameter `query limit` became required")
        renamed = self.differences("name: limit", "name: max")
        self.assertIn("plane: GET /things: parameter `query limit` removed", renamed)
        self.assertIn("plane: GET /things: new parameter `query max`", renamed)
        self.assertEqual(
            self.differences('"202"', '"201"'),
            ["plane: POST /things: answer 202 removed", "plane: POST /things: new answer 201"],
        )

    def test_tells_when_a_member_is_specified_at_last(self) -> None:
        self.assertEqual(
            self.differences("        spare:", "        later:"),
            [
                "plane: Thing.later: specified at last, and in use already",
                "plane: Thing.spare: removed, and not in use",
            ],
        )


class Matrix(SmallGate):
    def rows(self) -> list[str]:
        return [f"| pin | {name} | `{value}` |" for name, value in gate.pins(tomllib.loads(self.lock))]

    def check(self, rows: list[str]) -> list[str]:
        self.write("docs/sandbox-compatibility.md", "\n".join(rows))
        return self.gate().matrix()

    def test_lock_and_matrix_have_the_same_pins(self) -> None:
        self.assertEqual(self.check(self.rows()), [])
        self.assertEqual(self.check(self.rows()[1:]), ["the matrix does not have commit abc"])
        self.assertEqual(self.check([*self.rows(), "| pin | server | `2` |"]), ["the lock does not have server 2"])

    def test_a_changed_pin_needs_a_changed_matrix(self) -> None:
        rows = self.rows()
        self.write("sandbox/spec.lock.toml", self.lock.replace('"abc"', '"def"'))
        self.assertEqual(
            self.check(rows), ["the matrix does not have commit def", "the lock does not have commit abc"]
        )

    def test_a_changed_dockerfile_needs_a_changed_pin(self) -> None:
        with (self.root / "deploy/sandbox-images/code.Dockerfile").open("a") as dockerfile:
            dockerfile.write("RUN true\n")
        said = self.check(self.rows())
        self.assertEqual([re.sub(r"[0-9a-f]{12}", "TAG", one) for one in said], [
            "image code is TAG by its content, and TAG is pinned",
            "image browser is TAG by its content, and TAG is pinned",
        ])


class Repository(unittest.TestCase):
    """The gate's own files."""

    def test_lock_and_matrix_agree(self) -> None:
        self.assertEqual(gate.Gate().matrix(), [])

    def test_the_client_speaks_with_the_servers_that_were_tested(self) -> None:
        source = (gate.ROOT / "sandbox/src/opensandbox/version.rs").read_text()
        bounds = re.findall(r"(from|below): Version \{ major: (\d+), minor: (\d+), patch: (\d+) \}", source)
        (_, *first), (_, *end) = bounds[:2]
        for version in gate.Gate().lock["server"]["versions"]:
            numbers = [int(one) for one in version.split(".")]
            self.assertTrue(list(map(int, first)) <= numbers < list(map(int, end)), f"{version}: {bounds}")

    def test_the_client_reads_or_writes_every_member_of_the_subset(self) -> None:
        sources = "\n".join(file.read_text() for file in (gate.ROOT / "sandbox/src/opensandbox").rglob("*.rs"))
        missing = []
        for plane, used in gate.Gate().subset.items():
            for table in (used["members"], used.get("beyond", {})):
                for name, members in table.items():
                    missing += [f"{plane}: {name}.{one}" for one in members if not is_mentioned(one, sources)]
        self.assertEqual(missing, [], "the subset names what the client does not use")

    def test_the_pinned_specifications_are_as_the_inventory_says(self) -> None:
        # Only a machine that has them can tell; `make check` says so where it has not.
        if specs := os.environ.get("OPENSANDBOX_SPECS"):
            self.assertEqual(gate.Gate().verify(Path(specs)), [])
        self.assertEqual(set(gate.Gate().subset), set(json.loads(gate.Gate().inventory_file.read_text())))


def is_mentioned(member: str, sources: str) -> bool:
    name = member.rsplit(".", 1)[-1]
    snake = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
    return any(re.search(rf"\b{re.escape(word)}\b", sources) for word in (name, snake))


if __name__ == "__main__":
    unittest.main()
