#!/usr/bin/env python3
"""Runs Python, JavaScript, a shell and a browser in sandboxes of a Vitrine server, by GraphQL alone.

    python3 examples/sandbox/run.py --url http://127.0.0.1:8080 --api-key KEY [--image vitrine/browser]

It makes a model that follows a script, a sandbox profile and an agent, unless they are there, and starts one execution for
each program. Nothing beside Python's standard library is needed.
"""

import argparse
import json
import sys
import time
import urllib.request
import uuid

PROGRAMS = {
    "Python": [
        {"tool": "run_python", "arguments": {"code": "import sys\nprint('Python', sys.version.split()[0], 2 ** 64)"}},
    ],
    "JavaScript": [
        {"tool": "run_javascript", "arguments": {"code": "console.log('JavaScript', [3, 1, 2].sort().join(' < '))"}},
    ],
    "Shell": [
        {
            "tool": "run_shell",
            "arguments": {"command": "seq 1 5 > outputs/numbers.txt && paste -sd+ outputs/numbers.txt"},
        },
    ],
    "Screenshot": [
        {
            "tool": "write_file",
            "arguments": {
                "path": "page.html",
                "content": "<title>A page</title><h1 style='color: teal'>Drawn in a sandbox</h1>",
            },
        },
        {"tool": "browse", "arguments": {"path": "page.html"}},
        {"tool": "browse", "arguments": {"path": "page.html", "as": "screenshot", "save_as": "page.png"}},
    ],
}
TOOLS = ["run_python", "run_javascript", "run_shell", "write_file", "browse"]
ENDED = {"SUCCEEDED", "FAILED", "STOPPED", "CANCELLED"}


class Server:
    """A Vitrine server and the key that its caller has."""

    def __init__(self, url, api_key):
        self.url, self.api_key = url.rstrip("/"), api_key

    def query(self, document, /, **variables):
        body = json.dumps({"query": document, "variables": variables}).encode()
        headers = {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/graphql", body, headers)) as answer:
            answer = json.load(answer)
        if "errors" in answer:
            raise SystemExit(f"the server refused: {answer['errors'][0]['message']}")
        return answer["data"]

    def mutate(self, name, selection, /, **values):
        kind = name[0].upper() + name[1:] + "Input"
        document = f"mutation M($input: {kind}!) {{ {name}(input: $input) {{ {selection} userErrors {{ path message }} }} }}"
        payload = self.query(document, input=values)[name]
        if payload["userErrors"]:
            fault = payload["userErrors"][0]
            raise SystemExit(f"{name}: {'.'.join(fault['path'])} {fault['message']}")
        return payload


def ensure(server, project, kind, slug, spec):
    """The id of the project's resource with this slug, which is made when it is missing."""
    found = server.query(f"query F($id: ID!) {{ {kind}s(projectId: $id, first: 100) {{ nodes {{ id slug }} }} }}", id=project)
    for node in found[f"{kind}s"]["nodes"]:
        if node["slug"] == slug:
            return node["id"]
    made = server.mutate(
        f"{kind}Create", f"{kind} {{ id }}", projectId=project, slug=slug, name=slug, publish=True, spec=spec
    )
    return made[kind]["id"]


def make_agent(server, image):
    project = server.query("{ viewer { defaultProject { id } } }")["viewer"]["defaultProject"]["id"]
    # Its address makes it the connection to the runtime that comes with the server, which every project begins with.
    connection = ensure(server, project, "sandboxConnection", "local", {"baseUrl": "local:"})
    model = ensure(server, project, "model", "example-script", {
        "protocol": "OPENAI_COMPATIBLE", "provider": "scripted", "deployment": "tools", "alias": "script",
        "baseUrl": "scripted:", "contextWindow": 1000000, "maxOutputTokens": 100000,
        "price": {"inputPerMillionUsd": "0", "outputPerMillionUsd": "0"},
    })
    # A browser has many threads, and needs the memory of one.
    profile = ensure(server, project, "sandboxProfile", "example-browser", {
        "connectionId": connection, "image": image, "memoryBytes": str(1 << 30), "diskBytes": str(1 << 28),
        "pids": 512, "commandTimeoutMs": 60000,
    })
    return ensure(server, project, "agent", "example-sandbox", {
        "instructions": "Follow the script.", "modelId": model, "sandboxProfileId": profile, "tools": TOOLS,
        "limits": {"maxIterations": 20},
    })


def run(server, agent, calls):
    """Starts an execution that makes these calls one after another, and waits for its end."""
    task = json.dumps({"calls": [[call] for call in calls], "answer": "done"})
    started = server.mutate(
        "executionStart", "execution { id }", agentId=agent, task=task, idempotencyKey=str(uuid.uuid4())
    )
    document = """query E($id: ID!) { execution(id: $id) { status stopReason { message }
        artifacts { name mediaType byteSize downloadUrl }
        iterations(first: 50) { nodes { toolCalls { tool state exitCode result error { code message } } } } } }"""
    while True:
        execution = server.query(document, id=started["execution"]["id"])["execution"]
        if execution["status"] in ENDED:
            return execution
        time.sleep(0.1)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--url", default="http://127.0.0.1:8080")
    arguments.add_argument("--api-key", required=True)
    arguments.add_argument("--image", default="vitrine/browser")
    arguments.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    given = arguments.parse_args()
    server = Server(given.url, given.api_key)
    agent = make_agent(server, given.image)
    has_failed = False
    for name in given.programs:
        execution = run(server, agent, PROGRAMS[name])
        print(f"== {name}: {execution['status']}")
        for iteration in execution["iterations"]["nodes"]:
            for call in iteration["toolCalls"]:
                has_failed |= call["state"] != "SUCCEEDED"
                print(f"{call['tool']}: {call['result'].strip()}")
        for file in execution["artifacts"]:
            print(f"artifact {file['name']} ({file['mediaType']}, {file['byteSize']} bytes): {server.url}{file['downloadUrl']}")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
