"""An API server that crashes, forgets, or is away: what the agent's side of it makes of that.

It has a control plane of its own, because the controllers of the shared one take half a minute to
forgive a crash.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agent.kube.watch import KindWatch, WatchState, WatchTarget
from bus.identity import ResourceKey
from handlers.ports import LiveObject
from playground.background import BackgroundLoop
from playground.kubeapi import KubeApi
from playground.kubernetes import BreakableControlPlane, control_plane
from tests.unit.agent.kube.contender import contending
from tests.unit.agent.kube.kube_fixture import KubeFixture, following, opened, until


@pytest.fixture(scope="module")
def frail(parts_folder: Path, control_plane_binaries: Path) -> Iterator[BreakableControlPlane]:
    """A cluster of these tests alone, gone at their end."""
    folder = parts_folder / "frail"
    with BackgroundLoop("frail") as loop:
        yield loop.enter(control_plane(folder, control_plane_binaries, controllers=False))


@pytest.fixture
async def api(frail: BreakableControlPlane) -> AsyncIterator[KubeApi]:
    async with frail.api() as api:
        yield api


@pytest.fixture
async def space(api: KubeApi) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


@pytest.fixture
async def agent(frail: BreakableControlPlane, space: str) -> AsyncIterator[KubeFixture]:
    async with opened(frail.kubeconfig, namespaces=(space,)) as agent, following(agent):
        yield agent


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}}


def key_of(space: str, name: str) -> ResourceKey:
    return ResourceKey("", "ConfigMap", space, name)


async def test_the_api_server_comes_back_with_its_data_after_a_crash(
    frail: BreakableControlPlane, space: str
) -> None:
    path = f"/api/v1/namespaces/{space}/configmaps"
    async with frail.api() as api:
        await api.create(path, {"metadata": {"name": "kept"}, "data": {"a": "b"}})
    frail.kill_api_server()
    await frail.start_api_server()
    async with frail.api() as api:
        assert (await api.get(f"{path}/kept"))["data"] == {"a": "b"}


async def test_a_forgotten_version_leads_to_a_new_list(
    agent: KubeFixture, api: KubeApi, frail: BreakableControlPlane, space: str
) -> None:
    await frail.restart_api_server()  # a new one remembers nothing from before its start
    maps = f"/api/v1/namespaces/{space}/configmaps"
    await api.create(maps, config_map("kept"))
    states: list[WatchState] = []

    def note(state: WatchState, _why: str) -> None:
        states.append(state)

    sink = IndexRecorder()
    subject = WatchTarget(name="ConfigMap", path=maps, query={})
    watch = KindWatch(agent.client, subject, sink, note)
    watch._version = "1"

    async with running(watch):
        await until(lambda: sink.lists == 1)

    assert states[:2] == [WatchState.WATCHING, WatchState.LISTING]
    assert sink.puts >= 1


async def test_after_a_crash_of_the_api_server_the_index_equals_the_cluster(
    agent: KubeFixture, api: KubeApi, frail: BreakableControlPlane, space: str
) -> None:
    maps = f"/api/v1/namespaces/{space}/configmaps"
    for name in ("kept", "changed", "deleted"):
        await api.create(maps, config_map(name))
    await until(lambda: agent.live.get(key_of(space, "deleted")) is not None)

    frail.kill_api_server()
    try:
        await until(lambda: is_interrupted(agent))
    finally:
        await frail.start_api_server()
    async with frail.api() as again:
        await again.patch(f"{maps}/changed", {"data": {"colour": "red"}})
        await again.delete(f"{maps}/deleted")
        await again.create(maps, config_map("created"))
        listed = await again.get(maps)

    there = {it["metadata"]["name"]: it["metadata"]["resourceVersion"] for it in listed["items"]}
    await until(lambda: versions(agent, space) == there)
    assert "created" in there


async def test_a_cluster_that_is_set_back_is_read_anew_without_a_restart(
    frail: BreakableControlPlane, agent: KubeFixture, space: str, tmp_path: Path
) -> None:
    """A restored backup counts from older versions on, and what was deleted since is back."""
    maps = f"/api/v1/namespaces/{space}/configmaps"
    async with frail.api() as api:
        for name in ("kept", "changed", "deleted"):
            await api.create(maps, config_map(name))
    async with frail.stopped() as data:
        await asyncio.to_thread(shutil.copytree, data, tmp_path / "backup")
    async with frail.api() as api:
        for number in range(20):
            await api.patch(f"{maps}/changed", {"data": {"number": str(number)}})
        await api.delete(f"{maps}/deleted")
        await api.create(maps, config_map("later"))
        there = versions_of(await api.get(maps))
    await until(lambda: versions(agent, space) == there)
    removed: list[str] = []

    def note(before: LiveObject | None, after: LiveObject | None) -> None:
        if after is None and before is not None and before.key.namespace == space:
            removed.append(before.key.name)

    agent.live.index.all_changes.subscribe(note)

    async with frail.stopped() as data:
        await asyncio.to_thread(shutil.rmtree, data)
        await asyncio.to_thread(shutil.copytree, tmp_path / "backup", data)
    async with frail.api() as api:
        await api.patch(f"{maps}/kept", {"data": {"colour": "red"}})
        back = versions_of(await api.get(maps))

    assert max(map(int, back.values())) < max(map(int, there.values()))
    await until(lambda: versions(agent, space) == back)
    assert {"deleted", "later"} & back.keys() == {"deleted"}
    assert "later" in removed
    assert not set(removed) & back.keys()


async def test_an_api_server_that_is_away_at_the_start_is_waited_for(
    frail: BreakableControlPlane, space: str
) -> None:
    frail.kill_api_server()
    try:
        async with opened(frail.kubeconfig, namespaces=(space,)) as agent:
            with capture_logs() as logs:
                task = asyncio.ensure_future(agent.live.run())
                await until(lambda: any(it["event"] == "discovery failed" for it in logs))
                await frail.start_api_server()
                async with asyncio.timeout(60):
                    await agent.live.synced()
                task.cancel()
                await asyncio.wait([task])
    finally:
        await frail.start_api_server()


async def test_who_cannot_renew_stops_before_another_may_begin(
    frail: BreakableControlPlane, space: str
) -> None:
    async with (
        opened(frail.kubeconfig) as agent,
        contending(agent.client, space, "one", duration=2.0) as one,
    ):
        await until(one.acting.is_set)
        frail.kill_api_server()
        try:
            await until(lambda: not one.acting.is_set())
        finally:
            await frail.start_api_server()


class IndexRecorder:
    def __init__(self) -> None:
        self.puts = 0
        self.lists = 0

    def begin_list(self) -> None:
        self.puts = 0

    def forget_versions(self) -> None:
        """No version is compared here."""

    def put(self, raw: bytes) -> None:
        self.puts += 1

    def remove(self, raw: bytes) -> None:
        pass

    def end_list(self, resource_version: str) -> None:
        self.lists += 1


class running:  # noqa: N801  reads as a verb
    """A watch in a task of its own, cancelled at the end."""

    def __init__(self, watch: KindWatch) -> None:
        self._task = asyncio.ensure_future(watch.run())

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])


def is_interrupted(agent: KubeFixture) -> bool:
    return bool(agent.live._watches.being(WatchState.FAILING))


def versions_of(listed: Mapping[str, Any]) -> dict[str, str]:
    metadata = [it["metadata"] for it in listed["items"]]
    return {it["name"]: it["resourceVersion"] for it in metadata}


def versions(agent: KubeFixture, space: str) -> dict[str, str]:
    found = agent.live.index.of_kind("", "ConfigMap")
    return {it.key.name: it.resource_version for it in found if it.key.namespace == space}
