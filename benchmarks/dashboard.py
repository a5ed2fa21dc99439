"""dashboard: 1000 applications in a browser, and a tree of 500 objects. How soon, and how smooth?

A service on a real PostgreSQL, told by 50 simulated agents; Debian's Chromium, without a GPU, loads
the list with an empty cache, types into its search, and listens to the agents' steady reports. The
tree is an answer of 500 objects put in place of the agent's, and panned with the mouse.

    python -m benchmarks.dashboard --applications 1000 --objects 500 --loads 5
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from pydantic import SecretStr

from benchmarks.alone import Alone, parser_of, run_alone
from benchmarks.counters import look
from benchmarks.dashboard_page import Looker, open_looker
from benchmarks.fan_out import people
from benchmarks.figures import Figure
from benchmarks.service_load import line_of, simulated_agents, tokens_of
from benchmarks.simulated_agents import Burst
from playground.postgres import postgres_server
from service.lifecycle import Service, open_service
from service.settings import ServiceSettings

WORK = "a browser opens the list with N applications, and pans a tree of objects"
_AGENTS = 50
_FIRST_ROWS_AIM, _FRAME_AIM = 1000.0, 50.0


class PageMeasure(msgspec.Struct, frozen=True, kw_only=True):
    applications: int
    objects: int
    loads: int


async def dashboard(measure: PageMeasure) -> tuple[Figure, ...]:
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
                return await _measured(service, measure)


async def _measured(service: Service, measure: PageMeasure) -> tuple[Figure, ...]:
    _, viewers = await people(service)
    tokens = await tokens_of(service, _AGENTS)
    each = measure.applications // _AGENTS
    async with (
        simulated_agents(service.url, tokens, viewers[0], each) as load,
        open_looker(service.url, viewers[1]) as looker,
    ):
        began = look()
        msgspec.json.decode(await line_of(load), type=Burst)
        figures = (*await _list(looker, measure), *await _tree(looker, measure.objects))
        others = look().others_share(began)
    return (*figures, Figure(name="the machine's CPU that others took", unit="%", value=others))


async def _list(looker: Looker, measure: PageMeasure) -> tuple[Figure, ...]:
    """The agents report all the while: two changes a second from each."""
    live = await looker.frames_while_live(measure.applications)
    loads = sorted([await looker.first_rows() for _ in range(measure.loads)])
    typed = await looker.typing(measure.applications)
    return (
        Figure(
            name="address asked for -> first rows, median",
            unit="ms",
            value=loads[len(loads) // 2],
            aim=_FIRST_ROWS_AIM,
        ),
        Figure(name="the same, longest", unit="ms", value=loads[-1]),
        Figure(name="a letter typed -> list filtered", unit="ms", value=typed),
        Figure(name="100 changes/s: frames over 50 ms", unit="%", value=live.long_share),
        Figure(name="100 changes/s: p50 frame", unit="ms", value=live.p50),
        Figure(name="100 changes/s: p99 frame", unit="ms", value=live.p99, aim=_FRAME_AIM),
    )


async def _tree(looker: Looker, objects: int) -> tuple[Figure, ...]:
    drawn, frames = await looker.pan_tree(objects)
    return (
        Figure(name="tree unfolded -> all boxes drawn", unit="ms", value=drawn),
        Figure(name="panning: p50 frame", unit="ms", value=frames.p50),
        Figure(name="panning: p99 frame", unit="ms", value=frames.p99, aim=_FRAME_AIM),
        Figure(name="panning: frames over 50 ms", unit="%", value=frames.long_share),
    )


def alone(measure: PageMeasure) -> Alone:
    return Alone(
        benchmark="dashboard",
        work=WORK,
        size=measure.applications,
        measure=lambda: dashboard(measure),
    )


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("dashboard", __doc__)
    parser.add_argument("--applications", type=int, default=1000, metavar="N")
    parser.add_argument("--objects", type=int, default=500, metavar="M")
    parser.add_argument("--loads", type=int, default=5, metavar="L")
    options = parser.parse_args(arguments)
    measure = PageMeasure(
        applications=options.applications, objects=options.objects, loads=options.loads
    )
    return run_alone(alone(measure), options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
