"""catch_up: the link was cut while an agent recorded 10,000 reports. How long until all are told?

A service on a real PostgreSQL and one agent. Half way the link is cut once more, with a window of
reports under way: they are sent again, and none may be there twice.

    python -m benchmarks.catch_up --reports 10000 --repeat 3 --json bench-results/catch_up.json
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import func, select

from benchmarks.alone import Alone, parser_of, run_alone
from benchmarks.counters import look
from benchmarks.figures import Figure
from benchmarks.simulated_agents import deliver
from bus.link import Ack, Items, LinkItem
from playground.postgres import postgres_server
from service.lifecycle import Service, open_service
from service.settings import ServiceSettings
from service.store.tables import changes, facts
from tests.service.fake_agent import AgentIdentity, FakeOutbox, connect
from tests.service.service_fixture import RunningService

WORK = "N facts recorded without a link, then told; the link is cut once more half way"
_FRAME, _UNDER_WAY = 64, 8


async def catch_up(count: int) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with postgres_server(Path(folder)) as server:
            settings = ServiceSettings(
                database_url=SecretStr(server.url),
                key_file=Path(folder) / "service.key",
                key_generate=True,
                port=0,
                metrics_port=0,
                migrate=True,
            )
            async with open_service(settings) as service:
                return await _measured(service, count)


async def _measured(service: Service, count: int) -> tuple[Figure, ...]:
    identity, outbox = await RunningService(service).enrolled(), FakeOutbox()
    items = [_report(outbox, number) for number in range(count)]
    before, began = look(), time.monotonic()
    await _cut_short(identity, outbox, items)
    again = await _to_the_end(identity, outbox, items)
    seconds, others = time.monotonic() - began, look().others_share(before)
    stored, fact_count = await _counted(service)
    return (
        Figure(name="all stored after", unit="s", value=seconds),
        Figure(name="reports", unit="/s", value=count / seconds),
        Figure(name="sent again", unit="", value=again),
        Figure(name="duplicates", unit="", value=fact_count - stored, aim=0),
        Figure(name="missing", unit="", value=count - stored, aim=0),
        Figure(name="the machine's CPU that others took", unit="%", value=others),
    )


def _report(outbox: FakeOutbox, number: int) -> LinkItem:
    body = {"sync": "Synced", "revision": "a" * 40, "number": number}
    return outbox.fact("app.compared.v1", f"argocd/app-{number % 200}", body)


async def _cut_short(
    identity: AgentIdentity, outbox: FakeOutbox, items: Sequence[LinkItem]
) -> None:
    """Half of them, and a window more of which nobody waits for an acknowledgement."""
    half = len(items) // 2
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await deliver(link, items[:half])
        for start in range(half, half + _FRAME * _UNDER_WAY, _FRAME):
            await link.send(Items(items=tuple(items[start : start + _FRAME])))
        await link.until(Ack)


async def _to_the_end(
    identity: AgentIdentity, outbox: FakeOutbox, items: Sequence[LinkItem]
) -> int:
    """First what the agent cannot know to be stored: how many those are."""
    half = len(items) // 2
    async with connect(identity) as link:
        welcome = await link.hello(identity, outbox.epoch)
        for start in range(half, welcome.acked, _FRAME):
            await link.put(items[start : start + _FRAME])
        await deliver(link, items[welcome.acked :])
    return welcome.acked - half


async def _counted(service: Service) -> tuple[int, int]:
    """Facts stored, and facts told to subscribers."""
    async with service.dependencies.engine.connect() as connection:
        stored = select(func.count()).select_from(facts)
        fact_count = select(func.count()).select_from(changes).where(changes.c.type == "fact")
        found = [(await connection.execute(query)).scalar_one() for query in (stored, fact_count)]
    return int(found[0]), int(found[1])


def alone(reports: int = 10_000) -> Alone:
    return Alone(benchmark="catch_up", work=WORK, size=reports, measure=lambda: catch_up(reports))


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("catch_up", __doc__)
    parser.add_argument("--reports", type=int, default=10_000, metavar="N")
    options = parser.parse_args(arguments)
    return run_alone(alone(options.reports), options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
