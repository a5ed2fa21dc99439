"""CPU seconds of the processes that this one started, by what they are: read from /proc.

A process that ended takes its figure with it; none of those measured does. Whoever else works on
the machine takes CPU from what is measured: how much is part of every figure's story.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_SERVERS = {"kube-apiserver": "API server", "etcd": "etcd", "nats-server": "NATS"}
_NAME_BYTES = 15  # the kernel keeps no more of a name
_SANDBOX = "gitops-sandbox"[:_NAME_BYTES]


class Process(NamedTuple):
    id: int
    parent: int
    name: str
    seconds: float


class Look(NamedTuple):
    """The machine at a moment: CPU seconds since it started, all of them and ours."""

    moment: float
    all: float
    ours: float

    def others_share(self, before: Look) -> float:
        """Percent of the machine's CPU that somebody else took since then."""
        others = (self.all - before.all) - (self.ours - before.ours)
        possible = (self.moment - before.moment) * len(os.sched_getaffinity(0))
        return max(0.0, others / possible * 100)


def look() -> Look:
    """Zero for all where /proc/stat does not count."""
    table = {one.id: one for one in _processes()}
    ours = sum(one.seconds for one in table.values() if _descends(one, os.getpid(), table))
    user, nice, system, _idle, _waiting, *interrupts = _machine()
    return Look(time.monotonic(), sum((user, nice, system, *interrupts[:3])) / _TICKS, ours)


def cpu_seconds(agent: int | None) -> Mapping[str, float]:
    """Of this process, the agent with that id, and the servers; what is neither is left out."""
    table = {one.id: one for one in _processes()}
    spent: dict[str, float] = defaultdict(float)
    for process in table.values():
        role = _role(process, agent)
        if role and _descends(process, os.getpid(), table):
            spent[role] += process.seconds
    return spent


def _role(process: Process, agent: int | None) -> str:
    if process.id == agent:
        return "agent"
    if process.id == os.getpid():
        return "benchmark"
    return "sandbox" if process.name == _SANDBOX else _SERVERS.get(process.name, "")


def _descends(process: Process, ancestor: int, table: Mapping[int, Process]) -> bool:
    at: Process | None = process
    while at is not None and at.id != ancestor:
        at = table.get(at.parent)
    return at is not None


def _processes() -> Iterator[Process]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            text = (folder / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        yield _parsed(text)


def _machine() -> list[int]:
    return [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]


def _parsed(stat: str) -> Process:
    """See proc_pid_stat(5): the name stands in brackets and may hold anything."""
    head, _, tail = stat.rpartition(")")
    number, _, name = head.partition(" (")
    fields = tail.split()
    ticks = int(fields[11]) + int(fields[12])
    return Process(int(number), int(fields[1]), name, ticks / _TICKS)
