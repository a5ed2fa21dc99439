"""monorepo_noop: one commit touches one of N applications; what does it cost all of them?

Counted from before the push until the counters stand still. Ideal: one render, one apply, one
status write, and nothing for the N - 1 others. A second commit touches no application at all.
"""

from __future__ import annotations

import asyncio

from benchmarks.agent_setup import AgentSetup
from benchmarks.counters import Snapshot
from benchmarks.figures import Figure
from benchmarks.pushing import Eyes, deliver, push
from benchmarks.workload import APPLICATIONS, DEPLOYMENTS, names

WORK = "one commit that touches one of N applications, then one that touches none"
_KINDS = ("deployments", "configmaps", "services", "serviceaccounts")
_QUIET = 2.0
_LOOKS = 30


async def monorepo_noop(setup: AgentSetup, count: int) -> tuple[Figure, ...]:
    touched = await _touch_one(setup, names(count)[count // 2])
    untouched = await _touch_none(setup)
    return (
        Figure(name="renders", unit="", value=touched.renders, aim=1),
        Figure(name="applies", unit="", value=touched.written(*_KINDS), aim=1),
        Figure(name="writes, all", unit="calls", value=touched.written()),
        Figure(name="agent's calls, Lease included", unit="calls", value=touched.requests),
        *_cpu(touched, ""),
        Figure(name="touching none: renders", unit="", value=untouched.renders, aim=0),
        Figure(name="touching none: writes", unit="calls", value=untouched.written(), aim=0),
        *_cpu(untouched, "touching none: "),
    )


async def _touch_one(setup: AgentSetup, name: str) -> Snapshot:
    async with (
        setup.cluster.watch(DEPLOYMENTS) as changes,
        setup.cluster.watch(APPLICATIONS) as syncs,
    ):
        before = await settled(setup)
        await push(setup, Eyes(deployments=changes, applications=syncs), name, "3.0")
    return (await settled(setup)).since(before)


async def _touch_none(setup: AgentSetup) -> Snapshot:
    before, head = await settled(setup), setup.repository.head()
    after = setup.repository.commit({"README.md": "nothing of any application"})
    await deliver(setup, head, after)
    return (await settled(setup)).since(before)


async def settled(setup: AgentSetup) -> Snapshot:
    """As it is when no work was done for a while: idle costs are part of every figure."""
    last = await setup.snapshot()
    for _ in range(_LOOKS):
        await asyncio.sleep(_QUIET)
        now = await setup.snapshot()
        if not now.since(last).written():
            return now
        last = now
    return last


def _cpu(done: Snapshot, prefix: str) -> tuple[Figure, ...]:
    return tuple(
        Figure(name=f"{prefix}CPU of {role}", unit="s", value=done.cpu.get(role, 0.0))
        for role in ("agent", "API server", "etcd")
    )
