"""What was done between two moments: the agent's own counters, the API server's, and CPU seconds.

Both sides count requests, so that neither has to be believed alone. Requests for Leases are the
agent's sign of life and no work; they are told apart where the API server can tell them.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from prometheus_client.parser import text_string_to_metric_families

K = TypeVar("K")

_AGENT_REQUESTS = "argocd_app_k8s_request"
_SERVER_REQUESTS = "apiserver_request"
_RENDERS = "gitops_renders"
_FETCHES = "argocd_git_request"
_WRITES = frozenset({"APPLY", "PATCH", "PUT", "POST", "DELETE"})
_NO_WORK = frozenset({"leases", ""})
_OTHERS = frozenset({"ipaddresses"})  # the API server's own, one a Service
_VERBS_OF_WATCHES = frozenset({"WATCH", "CONNECT"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    agent_requests: Mapping[str, float] = field(default_factory=dict)
    """By verb, as the agent counts them."""
    server_requests: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """By (verb, resource), as the API server counts them, whoever asked."""
    renders: float = 0.0
    """Those that evaluated something."""
    fetches: float = 0.0
    """Looks at a repository or registry, whether or not something had changed there."""
    cpu: Mapping[str, float] = field(default_factory=dict)

    def since(self, before: Snapshot) -> Snapshot:
        return Snapshot(
            agent_requests=_less(self.agent_requests, before.agent_requests),
            server_requests=_less(self.server_requests, before.server_requests),
            renders=self.renders - before.renders,
            fetches=self.fetches - before.fetches,
            cpu=_less(self.cpu, before.cpu),
        )

    @property
    def requests(self) -> float:
        """All that the agent sent, its Lease included."""
        return sum(self.agent_requests.values())

    @property
    def served(self) -> float:
        """What the API server did for others' work: no Leases, watches or discovery."""
        return sum(
            count
            for (verb, resource), count in self.server_requests.items()
            if resource not in _NO_WORK | _OTHERS and verb not in _VERBS_OF_WATCHES
        )

    def written(self, *resources: str) -> float:
        """Writes to these resources, or to all but Leases where none is named."""
        return sum(
            count
            for (verb, resource), count in self.server_requests.items()
            if verb in _WRITES
            if (resource in resources if resources else resource not in _NO_WORK | _OTHERS)
        )


def snapshot(agent_text: str, server_text: str, cpu: Mapping[str, float]) -> Snapshot:
    agent: Counter[str] = Counter()
    server: Counter[tuple[str, str]] = Counter()
    for labels, value in samples(agent_text, _AGENT_REQUESTS):
        agent[labels["verb"]] += int(value)
    for labels, value in samples(server_text, _SERVER_REQUESTS):
        server[labels["verb"], labels["resource"]] += int(value)
    renders = sum(
        value for labels, value in samples(agent_text, _RENDERS) if labels["cached"] == "false"
    )
    fetches = sum(
        value
        for labels, value in samples(agent_text, _FETCHES)
        if labels["request_type"] == "fetch"
    )
    return Snapshot(
        agent_requests=agent, server_requests=server, renders=renders, fetches=fetches, cpu=cpu
    )


def samples(text: str, family: str) -> Iterator[tuple[Mapping[str, str], float]]:
    """The totals of one counter; the rest of a long text is not parsed."""
    total = f"{family}_total"
    lines = [line for line in text.splitlines() if line.startswith((total, f"# TYPE {total}"))]
    for found in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in found.samples:
            if sample.name == total:
                yield sample.labels, sample.value


def _less(after: Mapping[K, float], before: Mapping[K, float]) -> dict[K, float]:
    return {key: after[key] - before.get(key, 0.0) for key in after}


_TICKS = os.sysconf("SC_CLK_TCK")
_SERVERS = {"kube-apiserver": "API server", "etcd": "etcd", "nats-server": "NATS"}
_NAME_BYTES = 15  # the kernel keeps no more of a name
_SANDBOX = "gitops-sandbox"[:_NAME_BYTES]


class Process(NamedTuple):
    id: int
    parent: int
    name: str
    seconds: float
    ended_children: float = 0.0
    """CPU seconds of children that have ended, and of theirs."""


class ProcessLook(NamedTuple):
    """The machine at a moment: CPU seconds since it started, all of them and ours."""

    seen_at: float
    all: float
    ours: float

    def others_share(self, before: ProcessLook) -> float:
        """Percent of the machine's CPU that somebody else took since then."""
        others = (self.all - before.all) - (self.ours - before.ours)
        possible = (self.seen_at - before.seen_at) * len(os.sched_getaffinity(0))
        return max(0.0, others / possible * 100)


def look() -> ProcessLook:
    """Zero for all where /proc/stat does not count."""
    table = {one.id: one for one in _processes()}
    ours = sum(one.seconds for one in table.values() if _descends(one, os.getpid(), table))
    user, nice, system, _idle, _waiting, *interrupts = _machine()
    return ProcessLook(time.monotonic(), sum((user, nice, system, *interrupts[:3])) / _TICKS, ours)


def cpu_seconds(agent: int | None) -> Mapping[str, float]:
    """Of this process, the agent with that id, and the servers; what is neither is left out."""
    table = {one.id: one for one in _processes()}
    spent: dict[str, float] = defaultdict(float)
    for process in table.values():
        role = _role(process, agent)
        if role and _descends(process, os.getpid(), table):
            spent[role] += process.seconds
    return spent


def seconds_of(process: int | None) -> float:
    """CPU seconds of one process since it started."""
    return _parsed(Path(f"/proc/{process}/stat").read_text()).seconds


def seconds_with_children(process: int | None) -> float:
    """CPU seconds of one process and of all that it has started, whether they still run or not."""
    table = {one.id: one for one in _processes()}
    return sum(
        one.seconds + one.ended_children for one in table.values() if _descends(one, process, table)
    )


def resident_of(process: int | None) -> int:
    """Resident bytes of one process."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def _role(process: Process, agent: int | None) -> str:
    if process.id == agent:
        return "agent"
    if process.id == os.getpid():
        return "benchmark"
    return "sandbox" if process.name == _SANDBOX else _SERVERS.get(process.name, "")


def _descends(process: Process, ancestor: int | None, table: Mapping[int, Process]) -> bool:
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
    ended = int(fields[13]) + int(fields[14])
    return Process(int(number), int(fields[1]), name, ticks / _TICKS, ended / _TICKS)
