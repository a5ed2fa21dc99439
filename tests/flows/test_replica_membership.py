"""Who is a member and holds what, on a real API server: the Lease that replicas hold together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest

from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import connect
from agent.kube.lease import Lease
from agent.replicas.membership import HOLDER, Membership
from agent.replicas.membership_terms import MembershipLostError, MembershipTerms
from agent.replicas.shard_ownership import ShardOwnership
from agent.replicas.shard_table import ShardTable, read_table, surplus
from bus.identity import SHARDS
from bus.metadata_keys import SHARDS_TABLE
from handlers.ports import ClusterUnreachableError
from playground.kubernetes import ControlPlane
from tests.support import eventually
from tests.unit.agent.kube.contender import contending

_DURATION = 10.0
"""Long enough that a member on a busy machine is not taken for a silent one."""


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with kube_client(await connect(control_plane.kubeconfig)) as client:
        yield client


@dataclass
class Replica:
    """A member that yields at once what it should, having no work to end."""

    membership: Membership
    held: ShardOwnership
    name: str
    ended: str = ""
    waited_for: list[str] = field(default_factory=list)

    async def run(self) -> None:
        try:
            await self.membership.join()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.membership.keep())
                while True:
                    self.membership.written.clear()
                    self.membership.hand_over(frozenset(surplus(self.held.table, self.name)))
                    await self.membership.written.wait()
        except* MembershipLostError as lost:
            self.ended = str(lost.exceptions[0])


@asynccontextmanager
async def replica(client: KubeClient, namespace: str, name: str) -> AsyncIterator[Replica]:
    held, waited = ShardOwnership(divided=True), list[str]()
    terms = MembershipTerms(namespace=namespace, name="agent", identity=name, duration=_DURATION)
    membership = Membership(client, terms, held, waited.append)
    one = Replica(membership, held, name, waited_for=waited)
    task = asyncio.create_task(one.run())
    try:
        yield one
    finally:
        task.cancel()
        await asyncio.wait([task])


async def lease(client: KubeClient, namespace: str) -> Lease:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/agent"
    return msgspec.json.decode(await client.get(path), type=Lease)


async def table(client: KubeClient, namespace: str) -> ShardTable:
    found = await lease(client, namespace)
    return read_table(found.metadata.annotations.get(SHARDS_TABLE, ""))


def share(held: ShardTable, name: str) -> int:
    return len(held.held_by(name))


async def test_members_divide_and_who_leaves_leaves_its_share_to_the_others(
    client: KubeClient, namespace: str
) -> None:
    async def are(**shares: int) -> bool:
        now = await table(client, namespace)
        assert {name: share(now, name) for name in now.names} == shares
        return True

    async with replica(client, namespace, "one") as one:
        await eventually(lambda: share(one.held.table, "one") == SHARDS)
        async with replica(client, namespace, "two") as two, replica(client, namespace, "three"):
            await eventually(lambda: are(one=22, two=21, three=21))
            await two.membership.leave()
            await eventually(lambda: are(one=32, three=32))
            assert not two.held.fence.is_open
            assert (await lease(client, namespace)).holder == HOLDER


async def test_a_silent_member_loses_its_shards_and_is_told(
    client: KubeClient, namespace: str
) -> None:
    """It is cut off from the table only, as a process that is stopped: its clock goes on."""
    async with replica(client, namespace, "one") as one:
        async with replica(client, namespace, "two") as silent:
            await eventually(lambda: share(one.held.table, "two") == SHARDS // 2)
        terms_before = one.held.table.held_by("two")
        fence = silent.held.fence
        await eventually(lambda: share(one.held.table, "one") == SHARDS)
        assert not fence.is_open
        assert all(one.held.table.shards[it].term > term for it, term in terms_before.items())
        with pytest.raises(ClusterUnreachableError, match="has not renewed its place"):
            await client.fenced(fence).create(f"/api/v1/namespaces/{namespace}/configmaps", b"{}")
        with pytest.raises(MembershipLostError, match="have not heard"):
            await silent.membership.keep()
        assert not fence.is_open


async def test_replicas_and_an_undivided_agent_wait_for_each_other(
    client: KubeClient, namespace: str
) -> None:
    async with contending(client, namespace, "undivided") as undivided:
        await eventually(undivided.acting.is_set)
        async with replica(client, namespace, "one") as one:
            await eventually(lambda: one.waited_for)
            assert not one.held.fence.is_open
            undivided.stop.set()
            await eventually(lambda: share(one.held.table, "one") == SHARDS)
            async with contending(client, namespace, "another") as another:
                before = one.held.table.beat_of("one") or 0
                await eventually(lambda: (one.held.table.beat_of("one") or 0) > before + 2)
                assert not another.acting.is_set()
                await one.membership.leave()
                await eventually(another.acting.is_set)


async def test_a_lease_that_an_undivided_agent_took_ends_every_membership(
    client: KubeClient, namespace: str
) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/agent"
    async with replica(client, namespace, "one") as one:
        await eventually(lambda: share(one.held.table, "one") == SHARDS)
        usurped = {"spec": {"holderIdentity": "usurper", "leaseDurationSeconds": 60}}
        await client.merge_patch(path, usurped)
        await eventually(lambda: one.ended == "usurper holds the Lease, and divides nothing")


async def test_a_table_that_cannot_be_read_is_made_anew(client: KubeClient, namespace: str) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "agent", "annotations": {SHARDS_TABLE: "{"}},
        "spec": {"holderIdentity": HOLDER},
    }
    await client.create(path, msgspec.json.encode(body))
    async with replica(client, namespace, "one") as one:
        await eventually(lambda: share(one.held.table, "one") == SHARDS)
