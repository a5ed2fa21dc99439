"""Provisioning on a real NATS: idempotent, an upgrade, or a clear refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from nats.js import api

from agent.child_process import ChildProcess, ChildProgram
from agent.embedded_nats import nats_binary
from agent.loopback import answers_tcp, free_port
from bus.carrier import CarrierError
from bus.events import RefreshApp
from bus.jetstream import Bus, CarrierUnreachableError
from bus.jetstream.provisioner import TopologyConflictError
from bus.topology import Sizes, buckets, streams
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import always_open, app, dispatching, route_of, settings_of

pytestmark = pytest.mark.usefixtures("own_servers")


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    async with Bus.open(settings_of(nats_url)) as bus:
        yield bus


async def config_of(bus: Bus, kind: str) -> api.StreamConfig:
    return (await bus.connection.jetstream.stream_info(bus.scope.name(kind))).config


async def test_provisioning_twice_changes_nothing(bus: Bus) -> None:
    await bus.provision([route_of(always_open(), RefreshApp)])
    before = [await config_of(bus, plan.name.rpartition("-")[2]) for plan in streams(bus.scope)]
    await bus.provision([route_of(always_open(), RefreshApp)])
    after = [await config_of(bus, plan.name.rpartition("-")[2]) for plan in streams(bus.scope)]
    assert before == after
    assert len(after) == 5


async def test_streams_have_the_sizes_that_were_chosen_also_when_chosen_anew(
    nats_url: str,
) -> None:
    mib = 1024 * 1024
    for facts in (4, 2):
        sizes = Sizes(facts=facts * mib, reports=mib)
        async with Bus.open(settings_of(nats_url, agent="sized", sizes=sizes)) as bus:
            await bus.provision()
            sizes_there = [(await config_of(bus, kind)).max_bytes for kind in ("FACT", "UP")]
        assert sizes_there == [facts * mib, mib]


async def test_an_older_topology_is_upgraded_and_an_operators_own_words_stay(bus: Bus) -> None:
    jetstream, name = bus.connection.jetstream, bus.scope.name("FACT")
    older = api.StreamConfig(
        name=name,
        subjects=[f"{bus.scope.prefix}.fact.manifests.>"],
        max_age=3600,
        storage=api.StorageType.FILE,
        metadata={"owner": "platform team"},
    )
    await jetstream.add_stream(older)
    await jetstream.publish(f"{bus.scope.prefix}.fact.manifests.rendered.00.x", b"kept")
    await bus.provision()
    upgraded = await config_of(bus, "FACT")
    assert upgraded.subjects == [f"{bus.scope.prefix}.fact.>"]
    assert upgraded.max_age == 72 * 3600
    assert (upgraded.metadata or {})["owner"] == "platform team"
    assert (await jetstream.stream_info(name)).state.messages == 1


async def test_a_consumer_of_an_older_version_is_upgraded_in_place(bus: Bus) -> None:
    route, stream = route_of(always_open(), RefreshApp, name="render"), bus.scope.name("ASK")
    await bus.provision()
    older = api.ConsumerConfig(
        name="render",
        durable_name="render",
        filter_subject=f"{bus.scope.prefix}.ask.render.00.*",
        ack_wait=5,
        max_deliver=3,
    )
    await bus.connection.jetstream.add_consumer(stream, older)
    await bus.provision([route])
    found = (await bus.connection.jetstream.consumer_info(stream, "render")).config
    assert found.filter_subject == f"{bus.scope.prefix}.ask.render.*.*"
    assert (found.ack_wait, found.max_deliver) == (30, -1)


async def test_what_nats_cannot_change_is_refused_with_what_to_do(bus: Bus) -> None:
    name = bus.scope.name("ASK")
    await bus.connection.jetstream.add_stream(name=name, subjects=[f"{bus.scope.prefix}.ask.>"])
    with pytest.raises(TopologyConflictError, match=rf"{name} has retention limits.*delete"):
        await bus.provision()


async def test_a_subject_that_belongs_to_someone_elses_stream_is_named(bus: Bus) -> None:
    await bus.connection.jetstream.add_stream(
        name=f"OTHER-{bus.settings.agent}", subjects=[f"{bus.scope.prefix}.ask.>"]
    )
    with pytest.raises(CarrierError, match=r"stream GT-.*-ASK .*overlap"):
        await bus.provision()


async def test_buckets_keep_what_is_put_and_create_only_once(bus: Bus) -> None:
    await bus.provision()
    results, seen = await bus.bucket("results"), await bus.bucket("seen")
    await results.put("sync/argocd.guestbook *", b"done")
    assert await results.get("sync/argocd.guestbook *") == b"done"
    assert await results.get("unknown") is None
    assert await seen.create("delivery 1", b"", ttl=3600) is True
    assert await seen.create("delivery 1", b"", ttl=3600) is False
    await seen.delete("delivery 1")
    assert await seen.create("delivery 1", b"") is True


async def test_buckets_have_the_topologys_time_to_live(bus: Bus) -> None:
    await bus.provision()
    for plan in buckets(bus.scope):
        info = await bus.connection.jetstream.stream_info(f"KV_{plan.name}")
        assert info.config.max_age == plan.ttl


async def test_a_bucket_that_is_not_there_is_named(bus: Bus) -> None:
    with pytest.raises(CarrierError, match=r"GT-.*-nothing"):
        await bus.bucket("nothing")


@pytest.fixture
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """A NATS that wants a token."""
    folder, port = tmp_path_factory.mktemp("guarded"), free_port()
    command = (
        nats_binary(), "-js", "-sd", str(folder), "-a", "127.0.0.1", "-p", str(port),
        "--auth", "the token",
    )  # fmt: skip
    async with ChildProcess(
        ChildProgram(name="nats-guarded", command=command, folder=folder), answers_tcp(port)
    ):
        yield f"nats://127.0.0.1:{port}"


async def test_a_token_opens_a_guarded_nats(guarded: str) -> None:
    handler = always_open()
    async with Bus.open(settings_of(guarded, token="the token")) as bus:
        await bus.provision()
        async with dispatching(bus, route_of(handler, RefreshApp)) as dispatcher:
            assert dispatcher.is_ready


async def test_a_wrong_token_is_told_as_such_and_not_shown(guarded: str) -> None:
    settings = settings_of(guarded, token="a guess", connect_seconds=1)
    with pytest.raises(CarrierUnreachableError, match=r"(?i)authorization") as failure:
        async with Bus.open(settings):
            pass
    assert "a guess" not in str(failure.value)


async def test_two_agents_on_one_nats_do_not_hear_each_other(nats_url: str) -> None:
    mine, theirs = always_open(), always_open()
    async with (
        Bus.open(settings_of(nats_url)) as one,
        Bus.open(settings_of(nats_url)) as other,
    ):
        await one.provision()
        await other.provision()
        async with (
            dispatching(one, route_of(mine, RefreshApp)),
            dispatching(other, route_of(theirs, RefreshApp)),
        ):
            await one.publish(RefreshApp(app=app(1)))
            await other.publish(RefreshApp(app=app(2)))
            await eventually(lambda: mine.left and theirs.left)
    assert [ask.app for ask in mine.came] == [app(1)]
    assert [ask.app for ask in theirs.came] == [app(2)]
