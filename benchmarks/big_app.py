"""big_app: one application of ten thousand small objects: its first sync, one change, and none.

The objects stand in files of a hundred. The change is a push that touches one object; the no-op is
a push that touches a file without changing an object, so everything is rendered and compared again.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.agent_setup import AgentSetup
from benchmarks.cluster import BenchmarkWatch
from benchmarks.counters import Snapshot
from benchmarks.figures import Figure
from benchmarks.monorepo_noop import settled
from benchmarks.pushing import deliver
from benchmarks.workload import APPLICATIONS, DESTINATION, Object, application
from bus.events import RevisionResolved
from playground.githost import HostedRepository

WORK = "one application of up to 10,000 ConfigMaps: first sync, a change of one object, no change"
MOST = 10_000
_NAME = "big"
_IN_ONE_FILE = 100
_WITHIN = 900.0
_CONFIG_MAPS = f"/api/v1/namespaces/{DESTINATION}/configmaps"


async def big_app(setup: AgentSetup, objects: int) -> tuple[Figure, ...]:
    repository = setup.repository
    body = big_application(repository)
    await _pushed(setup, files(objects))
    before = await settled(setup)
    async with (
        asyncio.timeout(_WITHIN),
        setup.cluster.watch(APPLICATIONS) as syncs,
        setup.cluster.watch(_CONFIG_MAPS) as changes,
    ):
        began = time.monotonic()
        await setup.cluster.create(APPLICATIONS, body)
        first = await _synced(syncs, repository.head()) - began
        settled_first = await settled(setup)
        changed = await _push(setup, changed_file(objects), changes, syncs)
        settled_change = await settled(setup)
        await _push(setup, touched_file(objects), None, syncs)
        settled_last = await settled(setup)
    done = settled_first.since(before)
    noop = settled_last.since(settled_change)
    return (
        Figure(name="objects", unit="", value=objects),
        Figure(name="first sync: created -> Synced", unit="s", value=first),
        Figure(
            name="first sync: writes of objects", unit="calls", value=done.written("configmaps")
        ),
        Figure(name="first sync: writes of the Application", unit="calls", value=_own(done) - 1),
        *_cpu("first sync", done),
        Figure(name="one change: push -> object changed", unit="ms", value=changed * 1000),
        *_cpu("one change", settled_change.since(settled_first)),
        Figure(name="no change: writes of objects", unit="calls", value=noop.written("configmaps")),
        *_cpu("no change", noop),
    )


def files(objects: int) -> dict[str, str]:
    """The folder of the application, by files of a hundred objects."""
    return {
        f"big/{first // _IN_ONE_FILE:03}.yaml": _file(first, objects)
        for first in range(0, objects, _IN_ONE_FILE)
    }


def changed_file(objects: int) -> dict[str, str]:
    return {"big/000.yaml": _file(0, objects, value="changed")}


def touched_file(objects: int) -> dict[str, str]:
    return {"big/000.yaml": "# touched\n" + _file(0, objects, value="changed")}


def big_application(repository: HostedRepository) -> Object:
    body = application(_NAME, repository.url)
    source = {**body["spec"]["source"], "path": "big"}
    return {**body, "spec": {**body["spec"], "source": source}}


def _file(first: int, objects: int, value: str = "first") -> str:
    """`value` is that of the first object."""
    numbers = range(first, min(first + _IN_ONE_FILE, objects))
    return "---\n".join(
        "apiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: big-{number:05}}}\n"
        f"data: {{key: {value if number == first else 'first'}}}\n"
        for number in numbers
    )


async def _pushed(setup: AgentSetup, files: dict[str, str]) -> None:
    """Push, and wait until the agent has fetched it: it must not look into the commit before."""
    before = setup.repository.head()
    async with asyncio.timeout(_WITHIN), setup.bus.facts() as facts:
        after = setup.repository.commit(files)
        await deliver(setup, before, after)
        async for _, fact in facts:
            if isinstance(fact, RevisionResolved) and fact.revision == after:
                return


async def _push(
    setup: AgentSetup,
    files: dict[str, str],
    changes: BenchmarkWatch | None,
    syncs: BenchmarkWatch,
) -> float:
    """Return the seconds until the object changed, or until Synced where none is to change."""
    before = setup.repository.head()
    after = setup.repository.commit(files)
    began = time.monotonic()
    await deliver(setup, before, after)
    changed = await _event(changes, "big-00000") if changes is not None else 0.0
    synced = await _synced(syncs, after)
    return (changed or synced) - began


async def _event(watch: BenchmarkWatch, name: str) -> float:
    async for seen in watch:
        if seen.object.name == name and seen.object.data.get("key") == "changed":
            return seen.seen_at
    raise AssertionError("a watch has no end")


async def _synced(watch: BenchmarkWatch, revision: str) -> float:
    async for seen in watch:
        sync = seen.object.status.sync
        if seen.object.name == _NAME and (sync.status, sync.revision) == ("Synced", revision):
            return seen.seen_at
    raise AssertionError("a watch has no end")


def _own(done: Snapshot) -> float:
    return done.written("applications")


def _cpu(what: str, done: Snapshot) -> tuple[Figure, ...]:
    return tuple(
        Figure(name=f"{what}: CPU of {role}", unit="s", value=done.cpu.get(role, 0.0))
        for role in ("agent", "API server", "sandbox")
    )
