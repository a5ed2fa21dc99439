"""What each login may do on a real NATS, and what the server denies it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import nats
import pytest
from nats.aio.client import Client

from agent.child_process import ChildProcess, ChildProgram
from agent.embedded_nats import nats_binary
from agent.loopback import answers_tcp, free_port
from bus.events import RefreshApp, RenderFailed, SyncApp
from bus.jetstream import Bus, BusSettings, CarrierUnreachableError
from bus.jetstream.authorization import authorization, new_seed, new_seeds, users_of
from bus.jetstream.outbox import OutboxEntry
from bus.logins import BusLogin, inbox_prefix
from bus.status import Reason
from bus.subjects import AgentScope
from bus.topology import REPORT_READER, stream_names
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import APP, COMMANDS, always_open, dispatching, route_of

pytestmark = pytest.mark.usefixtures("own_servers")

SCOPE = AgentScope("acme", "prod1")
OTHER = AgentScope("acme", "prod2")
LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
FACT = RenderFailed(app=APP, reason=Reason.YAML_INVALID, message="line 3")


@dataclass(frozen=True)
class PermissionServer:
    url: str
    seeds: Mapping[BusLogin, str]

    def settings(self, login: BusLogin) -> BusSettings:
        return BusSettings(
            url=self.url,
            account=SCOPE.account,
            agent=SCOPE.agent,
            login=login,
            nkey_seed=self.seeds[login],
            command_key=COMMANDS,
            publish_seconds=10,
        )


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[PermissionServer]:
    """With the logins of two agents; the streams of the first are there."""
    port, seeds = free_port(), new_seeds()
    users = (*users_of(SCOPE, seeds), *users_of(OTHER, new_seeds()))
    file = tmp_path / "nats.conf"
    file.write_text(
        f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{tmp_path}/js" }}\n'
        + authorization(users)
    )
    command = (nats_binary(), "--config", str(file))
    program = ChildProgram(name="nats-server", command=command, folder=tmp_path)
    async with ChildProcess(program, answers_tcp(port)):
        found = PermissionServer(f"nats://127.0.0.1:{port}", seeds)
        async with Bus.open(found.settings(BusLogin.AGENT)) as bus:
            await bus.provision()
            await bus.publish(FACT)
        yield found


async def test_agent_and_bridge_do_their_work_and_a_subscriber_reads(
    server: PermissionServer,
) -> None:
    handler, commands = always_open(FACT), always_open()
    async with (
        Bus.open(server.settings(BusLogin.AGENT)) as agent,
        Bus.open(server.settings(BusLogin.BRIDGE)) as bridge,
        Bus.open(server.settings(BusLogin.SUBSCRIBER)) as subscriber,
        subscriber.facts(since=LONG_AGO) as facts,
    ):
        routes = (route_of(handler, RefreshApp), route_of(commands, SyncApp))
        async with dispatching(agent, *routes):
            await agent.publish(RefreshApp(app=APP))
            await bridge.publish(SyncApp(id="1", actor="jane", app=APP))
            await eventually(lambda: handler.left and commands.left)
        assert [(await anext(facts))[1] for _ in range(2)] == [FACT, FACT]
        await the_bridge_reports(bridge)
        async with agent.latest_facts(RenderFailed) as latest:
            assert [fact async for _, fact in latest] == [FACT]
        assert await agent.oldest_fact() is not None
        assert len(await agent.usage()) == len(stream_names(SCOPE))


async def test_a_subscriber_hears_what_happens_from_now_on(server: PermissionServer) -> None:
    later = RenderFailed(app=APP, reason=Reason.YAML_INVALID, message="line 4")
    async with (
        Bus.open(server.settings(A)) as agent,
        Bus.open(server.settings(S)) as subscriber,
        subscriber.facts() as facts,
    ):
        await agent.publish(later)
        assert (await anext(facts))[1] == later


async def the_bridge_reports(bridge: Bus) -> None:
    reported: asyncio.Queue[object] = asyncio.Queue()
    inbox = bridge.fact_inbox(REPORT_READER, reported.put)
    await inbox.open()
    async with asyncio.timeout(60):
        await reported.get()
    await inbox.close()
    outbox = bridge.outbox()
    assert (await outbox.position()).epoch
    await outbox.append(OutboxEntry(branch="state", name="one", data=b"x"))
    (stored,) = await outbox.read(0, limit=10, max_bytes=10_000)
    await outbox.forget(stored.sequence)
    for name in ("results", "link"):
        bucket = await bridge.bucket(name)
        await bucket.put("task", b"1")
        assert await bucket.get("task") == b"1"
        assert await bucket.create("task", b"2") is False


async def test_the_agent_provisions_again_and_what_is_kept_for_it(server: PermissionServer) -> None:
    async with Bus.open(server.settings(BusLogin.AGENT)) as bus:
        await bus.provision([route_of(always_open(), RefreshApp)])
        await bus.provision([route_of(always_open(), RefreshApp)])
        seen = await bus.bucket("seen")
        assert await seen.create("delivery", b"")


@pytest.mark.parametrize("seed", ["", new_seed()], ids=["no login", "a stranger's key"])
async def test_whoever_has_no_login_is_not_let_in(server: PermissionServer, seed: str) -> None:
    settings = replace(server.settings(BusLogin.AGENT), nkey_seed=seed, connect_seconds=2)
    with pytest.raises(CarrierUnreachableError, match=r"(?i)authorization"):
        async with Bus.open(settings):
            pass


A, B, S = BusLogin.AGENT, BusLogin.BRIDGE, BusLogin.SUBSCRIBER
ANY = (A, B, S)
ASKS, COMMAND, FACTS, UP = (SCOPE.name(it) for it in ("ASK", "CMD", "FACT", "UP"))
RESULTS = SCOPE.name("results")
PUSHING = {"stream_name": FACTS, "config": {"deliver_subject": f"{SCOPE.prefix}.cmd.sync.00.x"}}
READER = {"stream_name": FACTS, "config": {"name": "mine", "durable_name": "mine"}}
DENIED: tuple[tuple[str, str, object, tuple[BusLogin, ...]], ...] = (
    ("publish an ask", f"{SCOPE.prefix}.ask.refresh.00.x", {}, (B, S)),
    ("publish a command", f"{SCOPE.prefix}.cmd.sync.00.x", {}, (A, S)),
    ("publish a fact", f"{SCOPE.prefix}.fact.app.compared.00.x", {}, (B, S)),
    ("publish a report", f"{SCOPE.prefix}.up.state.x", {}, (A, S)),
    ("publish a dead letter", f"{SCOPE.prefix}.dead.render", {}, (B, S)),
    ("publish for another agent", f"{OTHER.prefix}.cmd.sync.00.x", {}, ANY),
    ("publish outside", "anything", {}, ANY),
    ("create a stream of one's own", "$JS.API.STREAM.CREATE.MINE", {"name": "MINE"}, ANY),
    ("change a stream", f"$JS.API.STREAM.UPDATE.{ASKS}", {"name": ASKS}, (B, S)),
    ("delete the asks", f"$JS.API.STREAM.DELETE.{ASKS}", {}, ANY),
    ("delete the commands", f"$JS.API.STREAM.DELETE.{COMMAND}", {}, ANY),
    ("delete the facts", f"$JS.API.STREAM.DELETE.{FACTS}", {}, ANY),
    ("delete a bucket", f"$JS.API.STREAM.DELETE.KV_{RESULTS}", {}, ANY),
    ("purge the asks", f"$JS.API.STREAM.PURGE.{ASKS}", {}, ANY),
    ("purge the facts", f"$JS.API.STREAM.PURGE.{FACTS}", {}, ANY),
    ("purge the reports", f"$JS.API.STREAM.PURGE.{UP}", {}, (A, S)),
    ("delete a fact", f"$JS.API.STREAM.MSG.DELETE.{FACTS}", {"seq": 1}, ANY),
    ("read the commands", f"$JS.API.STREAM.MSG.GET.{COMMAND}", {"seq": 1}, ANY),
    ("read dead letters", f"$JS.API.STREAM.MSG.GET.{SCOPE.name('DEAD')}", {"seq": 1}, (B, S)),
    ("read the reports", f"$JS.API.DIRECT.GET.{UP}", {"seq": 1}, (A, S)),
    ("read results", f"$JS.API.DIRECT.GET.KV_{RESULTS}.$KV.{RESULTS}.a", {}, (A, S)),
    ("read results by sequence", f"$JS.API.DIRECT.GET.KV_{RESULTS}", {"seq": 1}, ANY),
    ("write results", f"$KV.{RESULTS}.a", {}, (A, S)),
    ("make a consumer that pushes", f"$JS.API.CONSUMER.CREATE.{FACTS}", PUSHING, (B, S)),
    ("make a consumer", f"$JS.API.CONSUMER.CREATE.{FACTS}.mine", READER, (B, S)),
    ("take from the bridge's reader", f"$JS.API.CONSUMER.MSG.NEXT.{FACTS}.report", 1, (S,)),
    ("delete a consumer", f"$JS.API.CONSUMER.DELETE.{FACTS}.report", {}, ANY),
    ("acknowledge for another", f"$JS.ACK.{FACTS}.report.1.1.1.1.0", {}, (S,)),
    ("look at the facts' stream", f"$JS.API.STREAM.INFO.{FACTS}", {}, (S,)),
    ("list all streams", "$JS.API.STREAM.NAMES", {}, ANY),
    ("look at the server", "$SYS.REQ.SERVER.PING", {}, ANY),
)
CASES = [
    pytest.param(login, subject, body, id=f"{login}: {what}")
    for what, subject, body, logins in DENIED
    for login in logins
]


@pytest.mark.parametrize(("login", "subject", "body"), CASES)
async def test_what_a_login_is_not_for_is_denied(
    server: PermissionServer, login: BusLogin, subject: str, body: object
) -> None:
    async with raw(server, login) as (client, denials):
        await client.publish(subject, msgspec.json.encode(body))
        await client.flush()
        await eventually(lambda: denials)
    assert "permissions violation for publish" in denials[0]
    assert subject.lower() in denials[0]


@pytest.mark.parametrize(
    ("login", "subject"),
    [
        pytest.param(login, subject, id=f"{login}: {what}")
        for what, subject, logins in (
            ("everything", ">", ANY),
            ("the commands", f"{SCOPE.prefix}.cmd.>", ANY),
            ("the asks", f"{SCOPE.prefix}.ask.>", ANY),
            ("the reports", f"{SCOPE.prefix}.up.>", ANY),
            ("another agent's facts", f"{OTHER.prefix}.fact.>", ANY),
            ("all answers", "_INBOX.>", ANY),
            ("the bridge's answers", f"{inbox_prefix(SCOPE, B)}.>", (A, S)),
            ("the agent's answers", f"{inbox_prefix(SCOPE, A)}.>", (B, S)),
            ("keys of a bucket", f"$KV.{RESULTS}.>", ANY),
            ("advisories", "$JS.EVENT.>", ANY),
        )
        for login in logins
    ],
)
async def test_nobody_hears_what_is_not_for_him(
    server: PermissionServer, login: BusLogin, subject: str
) -> None:
    async with raw(server, login) as (client, denials):
        await client.subscribe(subject, cb=_unheard)
        await client.flush()
        await eventually(lambda: denials)
    assert "permissions violation for subscription" in denials[0]


SEEN = SCOPE.name("seen")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(f"{SCOPE.prefix}.{words}", id=words)
        for words in ("cmd.sync.00.x", "ask.refresh.00.x", "up.state.x", "fact.app.compared.00.x")
    ]
    + [
        pytest.param(f"$KV.{SEEN}.mine", id="a bucket of the agent"),
        pytest.param(f"$KV.{RESULTS}.mine", id="a bucket of the bridge"),
        pytest.param(f"{OTHER.prefix}.fact.app.compared.00.x", id="facts of another agent"),
    ],
)
async def test_the_server_answers_a_subscriber_into_nobodys_stream(
    server: PermissionServer, answer: str
) -> None:
    """The server publishes its answer where who asks says, with the server's own rights."""
    async with Bus.open(server.settings(A)) as agent, raw(server, S) as (client, _denials):
        before = [*await agent.usage()]
        for question in ("STREAM.INFO", "DIRECT.GET"):
            await client.publish(f"$JS.API.{question}.{FACTS}", b'{"seq":1}', reply=answer)
        inbox = await client.subscribe(client.new_inbox())
        await client.publish(f"$JS.API.DIRECT.GET.{FACTS}", b'{"seq":1}', reply=inbox.subject)
        assert (await inbox.next_msg(10)).data  # so the questions before it are answered too
        assert [*await agent.usage()] == before


async def _unheard(_message: object) -> None:
    raise AssertionError


@asynccontextmanager
async def raw(server: PermissionServer, login: BusLogin) -> AsyncIterator[tuple[Client, list[str]]]:
    """A plain client of that login, and what the server denies it."""
    denials: list[str] = []

    async def note(error: Exception) -> None:
        denials.append(str(error).lower())

    client = await nats.connect(
        server.url,
        nkeys_seed_str=server.seeds[login],
        inbox_prefix=inbox_prefix(SCOPE, login),
        error_cb=note,
    )
    try:
        yield client, denials
    finally:
        await client.close()


async def test_the_agents_login_takes_single_shards_and_takes_them_over(
    server: PermissionServer,
) -> None:
    async with Bus.open(server.settings(BusLogin.AGENT)) as bus:
        for term in (1, 2):
            handler = always_open()
            routes = (route_of(handler, RefreshApp), route_of(handler, RenderFailed))
            dispatcher = bus.dispatcher(routes, divided=True)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(dispatcher.run())
                await dispatcher.ready()
                await dispatcher.open({RefreshApp(app=APP).shard: term})
                await bus.publish(RefreshApp(app=APP), FACT)
                await eventually(lambda left=handler.left: len(left) == 2)
                dispatcher.stop()
