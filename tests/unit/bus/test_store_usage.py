"""A store that somebody fills: the work goes on, and a person hears of it before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.child_process import ChildProcess, ChildProgram
from agent.embedded_nats import nats_binary
from agent.loopback import answers_tcp, free_port
from bus.carrier import CarrierError
from bus.events import RefreshApp, RenderFailed, SyncApp
from bus.jetstream import Bus
from bus.jetstream.outbox import OutboxEntry
from bus.jetstream.store_usage import alarms
from bus.status import Reason
from bus.topology import Sizes
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import APP, always_open, dispatching, route_of, settings_of

pytestmark = pytest.mark.usefixtures("own_servers")

MIB = 1024 * 1024
SMALL = Sizes(
    asks=8 * MIB,
    commands=8 * MIB,
    facts=16 * MIB,
    reports=16 * MIB,
    dead_letters=8 * MIB,
    results=24 * MIB,
)


@pytest.fixture
async def small_nats(tmp_path: Path) -> AsyncIterator[str]:
    """As the review had it: a server with 100 MB for everything."""
    port, file = free_port(), tmp_path / "nats.conf"
    file.write_text(
        f'listen: "127.0.0.1:{port}"\n'
        f'jetstream {{ store_dir: "{tmp_path}/js", max_file_store: 100MB }}\n'
    )
    command = (nats_binary(), "--config", str(file))
    program = ChildProgram(name="nats-server", command=command, folder=tmp_path)
    async with ChildProcess(program, answers_tcp(port)):
        yield f"nats://127.0.0.1:{port}"


@pytest.mark.parametrize("name", ["results", "link", "seen"])
async def test_work_goes_on_when_a_bucket_was_filled(small_nats: str, name: str) -> None:
    handler = always_open(RenderFailed(app=APP, reason=Reason.YAML_INVALID, message="line 3"))
    async with Bus.open(settings_of(small_nats, sizes=SMALL)) as bus:
        await bus.provision()
        bucket = await bus.bucket(name)
        for number in range(600):
            await bucket.put(f"filler-{number}", b"x" * 200_000)
        commands = always_open()
        routes = (route_of(handler, RefreshApp), route_of(commands, SyncApp))
        async with dispatching(bus, *routes):
            await bus.publish(RefreshApp(app=APP), SyncApp(id="1", actor="jane", app=APP))
            await eventually(lambda: handler.left and commands.left)
        await bus.outbox().append(OutboxEntry(branch="state", name="one", data=b"x"))
        await bucket.put("last", b"kept")
        assert await bucket.get("last") == b"kept"
        assert await bucket.get("filler-0") is None


async def test_a_store_that_is_nearly_full_is_an_alarm_and_history_is_none(
    small_nats: str,
) -> None:
    async with Bus.open(settings_of(small_nats, sizes=SMALL)) as bus:
        await bus.provision()
        assert alarms(await bus.usage()) == ()
        bucket = await bus.bucket("results")
        for number in range(105):
            await bucket.put(f"result-{number}", b"x" * 200_000)
        (alarm,) = alarms(await bus.usage())
        assert "results is 8" in alarm
        assert "% full" in alarm


async def test_a_store_of_which_nothing_is_known_is_said_to_be_so(small_nats: str) -> None:
    async with Bus.open(settings_of(small_nats)) as bus:
        with pytest.raises(CarrierError, match="the usage of the streams is unknown"):
            await bus.usage()
