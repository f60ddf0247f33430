"""Reads the output of a command with the official SDK, again and again, and prints what that cost as JSON.

Arguments: the server's host and port, the API key, the command, how often. The bytes are counted, not kept by us.
"""

import json
import resource
import sys
from datetime import timedelta

from opensandbox.config.connection_sync import ConnectionConfigSync
from opensandbox.models.execd import RunCommandOpts
from opensandbox.models.execd_sync import ExecutionHandlersSync
from opensandbox.sync.sandbox import SandboxSync


def main() -> None:
    domain, key, command, times = sys.argv[1:5]
    connection = ConnectionConfigSync(
        domain=domain, api_key=key, protocol="http", disable_metrics=True, request_timeout=timedelta(minutes=10)
    )
    sandbox = SandboxSync.create("vitrine/code", connection_config=connection)
    count = 0

    def take(message) -> None:
        nonlocal count
        count += len(message.text.encode())

    before = cpu_seconds()
    for _ in range(int(times)):
        execution = sandbox.commands.run(
            command,
            opts=RunCommandOpts(timeout=timedelta(minutes=10)),
            handlers=ExecutionHandlersSync(on_stdout=take),
        )
        if execution.error is not None or execution.complete is None:
            raise SystemExit("the command did not complete")
    spent = cpu_seconds() - before
    sandbox.kill()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"bytes": count, "cpu_seconds": spent, "peak_rss_kib": peak}))


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


main()
