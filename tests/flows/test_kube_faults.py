"""An API server that crashes, forgets, or is away: what the agent's side of it makes of that.

It has a control plane of its own, because the controllers of the shared one take half a minute to
forgive a crash.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agent.kube.watch import KindWatch, State, Subject
from bus.identity import ResourceKey
from playground.background import BackgroundLoop
from playground.build import build_control_plane, say_nothing
from playground.kubeapi import KubeApi
from playground.kubernetes import ControlPlane, control_plane
from tests.kube.contender import contending
from tests.kube.world import House, following, opened, until

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def frail(background: BackgroundLoop, parts_folder: Path) -> ControlPlane:
    binaries = build_control_plane(say_nothing)
    return background.enter(control_plane(parts_folder / "frail", binaries, controllers=False))


@pytest.fixture
async def api(frail: ControlPlane) -> AsyncIterator[KubeApi]:
    async with frail.api() as api:
        yield api


@pytest.fixture
async def space(api: KubeApi) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


@pytest.fixture
async def house(frail: ControlPlane, space: str) -> AsyncIterator[House]:
    async with opened(frail.kubeconfig, namespaces=(space,)) as house, following(house):
        yield house


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}}


def key_of(space: str, name: str) -> ResourceKey:
    return ResourceKey("", "ConfigMap", space, name)


async def test_a_forgotten_version_leads_to_a_new_list(
    house: House, api: KubeApi, frail: ControlPlane, space: str
) -> None:
    await frail.restart_api_server()  # a new one remembers nothing from before its start
    maps = f"/api/v1/namespaces/{space}/configmaps"
    await api.create(maps, config_map("kept"))
    states: list[State] = []

    def note(state: State, _why: str) -> None:
        states.append(state)

    sink = Recorder()
    subject = Subject(name="ConfigMap", path=maps, query={})
    watch = KindWatch(house.client, subject, sink, note)
    watch._version = "1"

    async with running(watch):
        await until(lambda: sink.lists == 1)

    assert states[:2] == [State.WATCHING, State.LISTING]
    assert sink.puts >= 1


async def test_after_a_crash_of_the_api_server_the_index_equals_the_cluster(
    house: House, api: KubeApi, frail: ControlPlane, space: str
) -> None:
    maps = f"/api/v1/namespaces/{space}/configmaps"
    for name in ("kept", "changed", "deleted"):
        await api.create(maps, config_map(name))
    await until(lambda: house.live.get(key_of(space, "deleted")) is not None)

    frail.kill_api_server()
    try:
        await until(lambda: is_interrupted(house))
    finally:
        await frail.start_api_server()
    async with frail.api() as again:
        await again.patch(f"{maps}/changed", {"data": {"colour": "red"}})
        await again.delete(f"{maps}/deleted")
        await again.create(maps, config_map("created"))
        listed = await again.get(maps)

    there = {it["metadata"]["name"]: it["metadata"]["resourceVersion"] for it in listed["items"]}
    await until(lambda: versions(house, space) == there)
    assert "created" in there


async def test_a_cluster_that_is_set_back_is_read_anew_without_a_restart(
    frail: ControlPlane, house: House, space: str, tmp_path: Path
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
    await until(lambda: versions(house, space) == there)

    async with frail.stopped() as data:
        await asyncio.to_thread(shutil.rmtree, data)
        await asyncio.to_thread(shutil.copytree, tmp_path / "backup", data)
    async with frail.api() as api:
        await api.patch(f"{maps}/kept", {"data": {"colour": "red"}})
        back = versions_of(await api.get(maps))

    assert max(map(int, back.values())) < max(map(int, there.values()))
    await until(lambda: versions(house, space) == back)
    assert {"deleted", "later"} & back.keys() == {"deleted"}


async def test_an_api_server_that_is_away_at_the_start_is_waited_for(
    frail: ControlPlane, space: str
) -> None:
    frail.kill_api_server()
    try:
        async with opened(frail.kubeconfig, namespaces=(space,)) as house:
            with capture_logs() as logs:
                task = asyncio.ensure_future(house.live.run())
                await until(lambda: any(it["event"] == "discovery failed" for it in logs))
                await frail.start_api_server()
                async with asyncio.timeout(60):
                    await house.live.synced()
                task.cancel()
                await asyncio.wait([task])
    finally:
        await frail.start_api_server()


async def test_who_cannot_renew_stops_before_another_may_begin(
    frail: ControlPlane, space: str
) -> None:
    async with opened(frail.kubeconfig) as house, contending(house.client, space, "one") as one:
        await until(one.acting.is_set)
        frail.kill_api_server()
        try:
            await until(lambda: not one.acting.is_set())
        finally:
            await frail.start_api_server()


class Recorder:
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


def is_interrupted(house: House) -> bool:
    return bool(house.live._watches.being(State.FAILING))


def versions_of(listed: Mapping[str, Any]) -> dict[str, str]:
    metadata = [it["metadata"] for it in listed["items"]]
    return {it["name"]: it["resourceVersion"] for it in metadata}


def versions(house: House, space: str) -> dict[str, str]:
    found = house.live.index.of_kind("", "ConfigMap")
    return {it.key.name: it.resource_version for it in found if it.key.namespace == space}
