"""Metrics: what the host has and uses, as the real one reports it."""

import os
import time
from typing import Any

from wire import Exchange, compact

SAMPLE_SECONDS = 1.0


def cpu_times() -> tuple[float, float]:
    with open("/proc/stat", encoding="ascii") as file:
        numbers = [float(one) for one in file.readline().split()[1:]]
    return sum(numbers), numbers[3] + numbers[4]


def sample() -> dict[str, Any]:
    total, idle = cpu_times()
    time.sleep(SAMPLE_SECONDS)
    total_after, idle_after = cpu_times()
    used = 1 - (idle_after - idle) / max(total_after - total, 1)
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in file}
    return {
        "cpu_count": float(len(os.sched_getaffinity(0))),
        "cpu_used_pct": max(0.0, used * 100),
        "mem_total_mib": memory["MemTotal"],
        "mem_used_mib": memory["MemTotal"] - memory["MemAvailable"],
        "timestamp": int(time.time() * 1000),
    }


def once(exchange: Exchange) -> None:
    exchange.json(sample())


def watch(exchange: Exchange) -> None:
    stream = exchange.stream()
    while True:
        time.sleep(SAMPLE_SECONDS)
        stream.raw(compact(sample()) + b"\n\n")


ROUTES = [("GET", r"/metrics", once), ("GET", r"/metrics/watch", watch)]
