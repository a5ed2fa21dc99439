"""Replicas as processes: they divide the Applications, and take over from one that is no more."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.settings.process_settings import LeaseSettings, ReplicasSettings
from bus.events import OperationFinished
from bus.identity import SHARDS, AppKey, shard_of
from tests.flows.agent_fixture import AgentFixture, config_map, is_synced
from tests.flows.agent_process import (
    AGENT,
    AgentProcess,
    allow_webhooks,
    bus_of,
    prepared,
)
from tests.flows.killed_agent import SIGNAL, VARIABLE
from tests.support import eventually

LEASE = 6.0
"""Long enough that a replica on a busy machine is not taken for a dead one."""
APPS = tuple(f"app-{number:02}" for number in range(12))
AUTOMATED = {"automated": {"prune": True, "selfHeal": True}}


@asynccontextmanager
async def replica(
    agent_fixture: AgentFixture, name: str, *command: str, **environment: str
) -> AsyncIterator[AgentProcess]:
    agent = prepared(
        agent_fixture,
        name,
        command or AGENT,
        **environment,
        GITOPS_LEASE_ENABLED="true",
        GITOPS_REPLICAS_DIVIDE="true",
        GITOPS_REPLICAS_LEASE=f"{LEASE:g}",
        GITOPS_STATE_DIR=str(agent_fixture.settings.state_dir / name),
    )
    async with agent.child:
        yield agent


async def holders(agent: AgentProcess) -> dict[str, list[str]]:
    """What `/leaderz` of a replica says: which shards each of them holds."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{agent.metrics_url}/leaderz") as it,
    ):
        return dict((await it.json())["holders"])


async def name_the_same(one: AgentProcess, two: AgentProcess) -> bool:
    return set(await holders(one)) == set(await holders(two))


async def own_shards(agent: AgentProcess) -> list[str]:
    """The shards that a replica acts for, of its metric."""
    return [line.split('"')[1] for line in await metric_lines(agent, "gitops_shard_term{")]


async def act_for(*counts: int, replicas: tuple[AgentProcess, ...]) -> bool:
    """Whether the replicas act for so many shards each, and for every shard together."""
    shards = [await own_shards(one) for one in replicas]
    assert sorted(map(len, shards)) == sorted(counts)
    assert len({shard for held in shards for shard in held}) == sum(counts) == SHARDS
    return True


@pytest.fixture
async def estate(stopped_agent: AgentFixture) -> AgentFixture:
    await allow_webhooks(stopped_agent)
    await push(stopped_agent, "1")
    for name in APPS:
        await stopped_agent.apply_app(name, name, syncPolicy=AUTOMATED)
    return stopped_agent


async def push(agent_fixture: AgentFixture, value: str) -> str:
    return agent_fixture.commit({f"{name}/a.yaml": config_map(name, key=value) for name in APPS})


async def until_live(agent_fixture: AgentFixture, value: str, revision: str = "") -> None:
    """Wait until every Application is synced and its object has the value of Git."""
    for name in APPS:

        def deployed(app: Mapping[str, Any]) -> bool:
            at = app["status"]["sync"].get("revision", "")
            return is_synced(app) and (not revision or at == revision)

        await agent_fixture.until(deployed, app=name)

        async def has_value(name: str = name) -> bool:
            found = await agent_fixture.get(f"configmaps/{name}")
            return found is not None and found["data"]["key"] == value

        await eventually(has_value)


async def finished_operations(agent_fixture: AgentFixture) -> list[tuple[AppKey, str]]:
    """The ends of operations that were published: the application and the revision of each."""
    async with bus_of(agent_fixture.settings) as bus, bus.kept_facts(OperationFinished) as facts:
        return [
            (one.app, one.revision) async for _, one in facts if isinstance(one, OperationFinished)
        ]


async def test_replicas_divide_the_work_join_leave_and_are_replaced(estate: AgentFixture) -> None:
    """One way through, since processes are expensive: join, leave, kill -9."""
    async with replica(estate, "one") as one:
        await one.until_ready()
        await until_live(estate, "1")
        await eventually(lambda: act_for(SHARDS, replicas=(one,)))

        async with replica(estate, "two") as two:
            await eventually(lambda: act_for(32, 32, replicas=(one, two)))
            estate.repository.webhook = two.webhook
            await until_live(estate, "2", await push(estate, "2"))
            await eventually(lambda: has_synced_its_own(estate, two))
            await eventually(lambda: name_the_same(one, two))
        await eventually(lambda: act_for(SHARDS, replicas=(one,)))

        async with replica(estate, "three") as three:
            await eventually(lambda: act_for(32, 32, replicas=(one, three)))
            estate.repository.webhook = one.webhook
            pushed = await push(estate, "3")
            three.child.kill()
            await until_live(estate, "3", pushed)
            await eventually(lambda: act_for(SHARDS, replicas=(one,)))

    async def all_have_ended() -> bool:
        ends = await finished_operations(estate)
        assert {app.name for app, revision in ends if revision == pushed} == set(APPS)
        return True

    await eventually(all_have_ended)
    ends = await finished_operations(estate)
    assert len(ends) == len(set(ends)), "an operation was done twice"


async def has_synced_its_own(agent_fixture: AgentFixture, two: AgentProcess) -> bool:
    """Whether the second replica has synced Applications, if it has any."""
    by_two, held = await syncs_of(two), set(await own_shards(two))
    in_two = {
        name for name in APPS if shard_of(AppKey(agent_fixture.namespace, name).token) in held
    }
    assert bool(by_two) == bool(in_two)
    return True


async def syncs_of(agent: AgentProcess) -> set[str]:
    """The Applications whose operations a replica has finished, of its metric."""
    found = await metric_lines(agent, "argocd_app_sync_total{")
    return {line.split('name="')[1].split('"')[0] for line in found}


async def test_a_replica_that_was_stopped_before_a_write_does_not_write_when_it_goes_on(
    estate: AgentFixture,
) -> None:
    """It stops itself right before an apply, and what it would apply is replaced meanwhile."""
    stops = {VARIABLE: "before:apply", SIGNAL: "STOP"}
    async with replica(estate, "one") as one:
        await one.until_ready()
        await until_live(estate, "1")
        async with replica(estate, "two", "-m", "tests.flows.killed_agent", **stops) as two:
            await eventually(lambda: act_for(32, 32, replicas=(one, two)))
            estate.repository.webhook = one.webhook
            await push(estate, "2")
            await eventually(lambda: is_stopped(two))
            await until_live(estate, "3", await push(estate, "3"))
            await eventually(lambda: act_for(SHARDS, replicas=(one,)))
            before = await versions(estate)
            os.kill(two.child.pid or 0, signal.SIGCONT)
            await eventually(lambda: two.logged("no longer acting: joining again"))
            await eventually(lambda: act_for(32, 32, replicas=(one, two)))
            assert await versions(estate) == before
            await until_live(estate, "4", await push(estate, "4"))

    ends = await finished_operations(estate)
    assert len(ends) == len(set(ends)), "an operation was done twice"


async def test_a_replica_that_lost_its_place_does_not_act_and_can_be_stopped(
    stopped_agent: AgentFixture,
) -> None:
    """Somebody who divides nothing has the Lease, and keeps it."""
    changes = {"replicas": ReplicasSettings(divide=True, lease=LEASE), "lease": LeaseSettings()}
    stopped_agent.settings = stopped_agent.settings.model_copy(update=changes)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{stopped_agent.namespace}/leases"
    held = {"spec": {"holderIdentity": "undivided", "leaseDurationSeconds": 3600}}
    async with stopped_agent.running() as agent:
        await stopped_agent.api.patch(f"{leases}/{stopped_agent.settings.lease.name}", held)
        await eventually(lambda: not agent.acting.is_set())


def is_stopped(agent: AgentProcess) -> bool:
    status = Path(f"/proc/{agent.child.pid}/status").read_text()
    return "State:\tT" in status


async def versions(agent_fixture: AgentFixture) -> dict[str, str]:
    """The resource version of each object that was deployed: it changes with every write."""
    found = [await agent_fixture.get(f"configmaps/{name}") for name in APPS]
    return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in found if one}


async def metric_lines(agent: AgentProcess, name: str) -> list[str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{agent.metrics_url}/metrics") as it,
    ):
        return [line for line in (await it.text()).splitlines() if line.startswith(name)]
