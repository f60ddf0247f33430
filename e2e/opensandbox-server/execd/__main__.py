"""A stand-in for OpenSandbox's execd: its wire, as far as the client and its tests use it, in Python's standard library.

It follows the wire of execd 1.1: bare JSON frames, line terminators kept, `argv`. In a sandbox with the variable
`VITRINE_EXECD_WIRE=1.0` it follows the older one, which has no `argv` and strips the terminators. It proves nothing about the real
daemon, whose image is only in a registry; it lets the real lifecycle server run sandboxes in which something answers.
"""

import os
import signal
import sys

import commands
import files
import metrics
import proxy
import sessions
import transfer
import wire


def main() -> None:
    # Who ends a sandbox ends execd; its commands end with the container.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    routes = [("GET", r"/ping", lambda exchange: exchange.reply(200))]
    for module in (commands, sessions, files, transfer, metrics):
        routes += module.ROUTES
    wire.serve(int(sys.argv[1]) if len(sys.argv) > 1 else proxy.EXECD_PORT, routes, proxy.forward)


main()
