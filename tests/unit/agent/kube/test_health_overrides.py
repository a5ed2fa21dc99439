"""Live objects whose kind has a health script: what the index says before and after its answer."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from agent.kube.health_overrides import HealthOverrides
from agent.kube.index import LiveIndex
from agent.kube.live_change import LiveChange
from agent.kube.script_queue import JudgedIndex, ScriptQueue
from agent.kube.summary import summarise
from agent.kube.watch_scope import WatchScope
from bus.identity import ResourceKey
from bus.status import HealthStatus
from handlers.application.health_scripts import read_scripts
from handlers.ports import LiveObject
from sandbox.client import Sandbox, SandboxLimits
from tests.support import eventually
from tests.unit.agent.kube.object_samples import config_map

KEY = "resource.customizations.health.ConfigMap"
BY_STATE = """
if obj.data.state == "crash" then error("no such state") end
return {status=obj.data.state, message=obj.kind .. " of " .. obj.apiVersion}
"""
FOR_EVER = "while true do end"


@pytest.fixture
async def sandbox(sandbox_binary: Path) -> AsyncIterator[Sandbox]:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as pool:
        yield pool


def judged_by(script: str) -> LiveIndex:
    overrides = HealthOverrides()
    overrides.use(read_scripts({KEY: script}))
    return LiveIndex("argocd", overrides)


def put(index: LiveIndex, name: str, **words: Any) -> LiveObject:
    """Put an object as a list brings it: without its kind."""
    body = config_map(name, **words)
    raw = orjson.dumps({key: body[key] for key in body.keys() - {"apiVersion", "kind"}})
    live = summarise(raw, api_version="v1", kind="ConfigMap")
    index.put(live, raw=raw)
    found = index.get(live.key)
    assert found is not None
    return found


async def drained(index: LiveIndex, sandbox: Sandbox) -> None:
    running = asyncio.create_task(index.overrides.run(sandbox), name="health scripts")
    await index.overrides.drained(60)
    running.cancel()
    await asyncio.wait([running])


def health(index: LiveIndex, live: LiveObject) -> tuple[HealthStatus | None, str]:
    found = index.get(live.key)
    assert found is not None
    return found.health, found.health_message


async def test_an_object_is_progressing_until_its_script_has_answered(sandbox: Sandbox) -> None:
    index = judged_by(BY_STATE)
    heard: list[LiveChange] = []
    live = put(index, "a", data={"state": "Suspended"})
    index.changes_of_others.subscribe(heard.append)

    assert health(index, live) == (
        HealthStatus.PROGRESSING,
        "the health script has not answered yet",
    )
    await drained(index, sandbox)
    assert health(index, live) == (HealthStatus.SUSPENDED, "ConfigMap of v1")
    assert [change.after.health for change in heard if change.after] == [HealthStatus.SUSPENDED]


async def test_a_status_that_changes_keeps_the_health_until_the_answer(sandbox: Sandbox) -> None:
    index = judged_by('return {status="Degraded", message=obj.status}')
    body = config_map("a", version=1)
    for version, status in (("1", "one"), ("2", "two")):
        body["metadata"]["resourceVersion"] = version
        raw = orjson.dumps({**body, "status": status})
        index.put(summarise(raw), raw=raw)
        if version == "1":
            await drained(index, sandbox)
    live = summarise(raw)

    assert health(index, live) == (HealthStatus.DEGRADED, "one")
    await drained(index, sandbox)
    assert health(index, live) == (HealthStatus.DEGRADED, "two")


async def test_new_content_is_progressing_again(sandbox: Sandbox) -> None:
    index = judged_by(BY_STATE)
    put(index, "a", data={"state": "Healthy"}, version=1)
    await drained(index, sandbox)
    live = put(index, "a", data={"state": "Degraded"}, version=2)

    assert live.health is HealthStatus.PROGRESSING
    await drained(index, sandbox)
    assert health(index, live)[0] is HealthStatus.DEGRADED


def test_a_late_answer_does_not_count_for_a_newer_version() -> None:
    index = judged_by(BY_STATE)
    old = put(index, "a", data={"state": "Healthy"}, version=1)
    new = put(index, "a", data={"state": "Degraded"}, version=2)

    index.judged(replace(old, health=HealthStatus.HEALTHY))

    assert index.get(new.key) == new


async def test_a_script_that_fails_makes_its_objects_unknown_and_no_other(sandbox: Sandbox) -> None:
    index = judged_by(BY_STATE)
    crash = put(index, "crash", data={"state": "crash"})
    fine = put(index, "fine", data={"state": "Healthy"})
    await drained(index, sandbox)
    status, message = health(index, crash)

    assert status is HealthStatus.UNKNOWN
    assert message.startswith(f"{KEY} failed: ")
    assert "no such state" in message
    assert health(index, fine)[0] is HealthStatus.HEALTHY


async def test_a_script_without_end_is_not_run_for_every_object(sandbox: Sandbox) -> None:
    index = judged_by(FOR_EVER)
    lives = [put(index, f"m{number}", data={}) for number in range(5)]
    await drained(index, sandbox)
    messages = [health(index, live)[1] for live in lives]

    assert all(health(index, live)[0] is HealthStatus.UNKNOWN for live in lives)
    assert all("took longer" in message or "failed" in message for message in messages[:3])
    assert all("is not run for objects in namespace web" in message for message in messages[3:])


async def test_objects_without_end_hurt_their_own_namespace_only(sandbox: Sandbox) -> None:
    index = judged_by('while obj.data.state == "loop" do end return {status="Healthy"}')
    for number in range(5):
        put(index, f"loop{number}", data={"state": "loop"}, namespace="hostile")
    fine = [put(index, f"fine{number}", data={"state": "ok"}) for number in range(20)]
    await drained(index, sandbox)

    assert all(health(index, live)[0] is HealthStatus.HEALTHY for live in fine)


async def test_an_object_that_is_gone_waits_no_longer(sandbox: Sandbox) -> None:
    index = judged_by(FOR_EVER)
    live = put(index, "a")
    index.remove(live)
    await drained(index, sandbox)

    assert index.get(live.key) is None


@pytest.mark.parametrize(
    "words",
    [{"app": "", "owner": ""}, {"app": "", "owner": "uid-of-a-stranger"}],
    ids=["of nobody", "of a stranger"],
)
async def test_an_object_of_no_application_is_judged_by_our_rules(
    sandbox: Sandbox, words: dict[str, str]
) -> None:
    index = judged_by('return {status="Degraded"}')
    live = put(index, "a", **words)
    await drained(index, sandbox)

    assert health(index, live) == (None, "")


async def test_an_object_that_an_application_owns_is_judged(sandbox: Sandbox) -> None:
    index = judged_by('return {status="Degraded"}')
    put(index, "root")
    live = put(index, "child", app="", owner="uid-root")
    await drained(index, sandbox)

    assert health(index, live)[0] is HealthStatus.DEGRADED


async def test_what_found_no_room_is_listed_again_and_judged(sandbox: Sandbox) -> None:
    overrides = HealthOverrides(ScriptQueue(of_one_namespace=600), again_seconds=0.0)
    overrides.use(read_scripts({KEY: 'return {status="Degraded"}'}))
    index = LiveIndex("argocd", overrides)
    names = [f"child-{number}" for number in range(8)]
    scope = WatchScope(group="", kind="ConfigMap")
    lists: list[set[str]] = []

    def list_again(_: JudgedIndex, keys: frozenset[ResourceKey]) -> None:
        """As the watches do: everything of the kind comes, and only these are taken."""
        lists.append({key.name for key in keys})
        index.reconsider(scope, keys)
        for name in names:
            put(index, name, app="", owner="uid-root")

    overrides.relists.subscribe(list_again)
    put(index, "root")
    children = [put(index, name, app="", owner="uid-root") for name in names]
    turned_away = {it.key.name for it in children if "was not run" in health(index, it)[1]}
    assert turned_away

    async def are_judged() -> bool:
        return all(health(index, it)[0] is HealthStatus.DEGRADED for it in children)

    running = asyncio.create_task(overrides.run(sandbox), name="health scripts")
    try:
        await eventually(are_judged, what="every health")
    finally:
        running.cancel()
        await asyncio.wait([running])
    assert turned_away <= lists[0]
    assert all(after < before for before, after in itertools.pairwise(lists))


async def test_what_is_gone_is_not_asked_for_again(sandbox: Sandbox) -> None:
    overrides = HealthOverrides(ScriptQueue(of_one_namespace=1), again_seconds=0.0)
    overrides.use(read_scripts({KEY: 'return {status="Degraded"}'}))
    index = LiveIndex("argocd", overrides)
    asked: list[str] = []
    overrides.relists.subscribe(lambda _, keys: asked.extend(key.name for key in keys))
    put(index, "root")
    kept, gone = (put(index, name, app="", owner="uid-root") for name in ("kept", "gone"))
    index.remove(gone)
    await drained(index, sandbox)

    assert asked == [kept.key.name]


async def test_another_script_judges_what_is_listed_again(sandbox: Sandbox) -> None:
    index = judged_by('return {status="Degraded"}')
    live = put(index, "a")
    await drained(index, sandbox)
    changed: list[str] = []
    index.overrides.changes.subscribe(lambda _, after: changed.extend(after.exact))

    index.overrides.use(read_scripts({KEY: 'return {status="Healthy"}'}))
    index.reconsider(WatchScope(group="", kind="ConfigMap"))
    put(index, "a")
    await drained(index, sandbox)

    assert changed == ["ConfigMap"]
    assert health(index, live)[0] is HealthStatus.HEALTHY


async def test_without_its_script_an_object_is_judged_by_our_rules_again(sandbox: Sandbox) -> None:
    index = judged_by('return {status="Degraded"}')
    live = put(index, "a")
    await drained(index, sandbox)

    index.overrides.use(read_scripts({}))
    index.reconsider(WatchScope(group="", kind="ConfigMap"))
    put(index, "a")

    assert health(index, live) == (None, "")
