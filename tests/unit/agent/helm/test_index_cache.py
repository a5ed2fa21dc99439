"""The cache of an index: whose threads read it, and what is remembered while it changes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from yarl import URL

from agent.download.downloader import Downloader, open_downloader
from agent.download.failures import DownloadServer
from agent.git.server_trust import MachineTrust
from agent.helm.index_cache import IndexCache
from bus.address import Origin
from tests.unit.agent.download.reader import answering

DEADLINE = 60


class DelayedExecutor(ThreadPoolExecutor):
    """Threads that parse at once, and hand over what they found when the test says so."""

    def __init__(self) -> None:
        super().__init__(2)
        self.parsed, self.release = threading.Event(), threading.Event()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        def delayed() -> Any:
            found = fn(*args, **kwargs)
            self.parsed.set()
            self.release.wait(DEADLINE)
            return found

        return super().submit(delayed)


@asynccontextmanager
async def published(versions: list[str]) -> AsyncIterator[tuple[Downloader, URL]]:
    """Publish the last of the versions, which a test may change."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=f"entries:\n  web:\n  - version: {versions[-1]}\n")

    async with answering(answer) as text:
        url = URL(text)
        server = DownloadServer(name=text, host=str(url.host))
        origin = Origin.parse(url.scheme, url.authority)
        async with open_downloader(server, origin, MachineTrust()) as downloader:
            yield downloader, url / "index.yaml"


async def test_an_index_that_changes_while_it_is_parsed_is_parsed_again(tmp_path: Path) -> None:
    versions = ["1.0.0"]
    with DelayedExecutor() as readers:
        cache = IndexCache(tmp_path, readers)
        async with published(versions) as (downloader, url), asyncio.TaskGroup() as group:
            await cache.fetch(downloader, url, "")
            first = group.create_task(cache.versions("web"), name="first")
            assert await asyncio.to_thread(readers.parsed.wait, DEADLINE)
            versions.append("2.0.0")
            await cache.fetch(downloader, url, "")
            readers.release.set()
            assert [one.version for one in await first] == ["1.0.0"]

            assert [one.version for one in await cache.versions("web")] == ["2.0.0"]


async def test_charts_of_a_slow_index_take_no_thread_of_other_work(tmp_path: Path) -> None:
    with DelayedExecutor() as readers:
        cache = IndexCache(tmp_path, readers)
        async with published(["1.0.0"]) as (downloader, url), asyncio.TaskGroup() as group:
            await cache.fetch(downloader, url, "")
            asked = [group.create_task(cache.versions(f"c{n}"), name=f"c{n}") for n in range(50)]
            assert await asyncio.to_thread(readers.parsed.wait, DEADLINE)
            assert not any(one.done() for one in asked)
            readers.release.set()
        assert [one.result() for one in asked] == [()] * 50
