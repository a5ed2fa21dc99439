"""KindWatch follows one kind: it lists the kind, then watches it, until the task ends.

The sink gets every object of a list between `begin_list` and `end_list`, and each change after
that, in the order of the server. A lost connection resumes from the last version received
(bookmarks keep it current); only where the server has forgotten that version (410) is the kind
listed again. Before a watch resumes, two requests check whether the server is the same and not
restored. Another cluster behind the same address ends the watch with ClusterReplacedError, because
its versions mean nothing here, be they lower or higher. A control plane that was restored from a
backup counts from an older version on, and would report nothing until it has caught up: then the
kind is listed again, and the sink forgets the versions that it knew. A failure is logged once,
retried with back-off and jitter, and logged once more when it is over.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, assert_never

import aiohttp
import msgspec
import structlog

from agent.kube.client import KubeClient
from agent.kube.errors import ForbiddenError, GoneError, NotFoundError, refusal
from agent.kube.kube_request import Query
from agent.kube.lines import Lines, LineTooLongError
from agent.kube.list_watch import EventType, pages, read_event
from agent.kube.live_change import version_number
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

_log = structlog.get_logger(__name__)

_IDLE_SECONDS = 150.0
_SHORTEST_WATCH, _LONGEST_WATCH = 300, 600
_SLICE = 50
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_LONGEST_PAUSE_WITHOUT_RIGHTS = 60.0
_REFUSALS_TO_BELIEVE = 2
_ERRORS_TO_BELIEVE = 8
"""So many answers in a row, some 15 seconds, because a server that starts gives errors for all."""


OnState = Callable[["WatchState", str], None]


class Sink(Protocol):
    """Receives the objects of one kind (in one namespace, or in all). Never blocks."""

    def begin_list(self) -> None: ...
    def forget_versions(self) -> None:
        """Accept any version next: the server was restored."""
        ...

    def put(self, raw: bytes) -> None: ...
    def remove(self, raw: bytes) -> None: ...
    def end_list(self, resource_version: str) -> None:
        """End the list: objects that were not in it are deleted."""
        ...


class WatchState(StrEnum):
    LISTING = "listing"
    WATCHING = "watching"
    FORBIDDEN = "forbidden"
    ABSENT = "absent"
    """The server does not serve this kind (any more)."""
    FAILING = "failing"
    REFUSED = "refused"
    """The server answers, but for this kind with errors only: its own API server may be down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTarget:
    """The path and query of a watch, and its name in logs."""

    name: str
    path: str
    query: Query


class KindWatch:
    """`run` never returns; cancel it. `on_state` is called at every transition.

    Raises ClusterReplacedError.
    """

    def __init__(
        self,
        client: KubeClient,
        subject: WatchTarget,
        sink: Sink,
        on_state: OnState = lambda _state, _why: None,
    ) -> None:
        self.state = WatchState.LISTING
        self.why = ""
        """Why the state was reached."""
        self._client = client
        self._subject = subject
        self._sink = sink
        self._on_state = on_state
        self._version = ""
        self._failures = 0
        self._errors = 0
        self._has_begun = False

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
            except GoneError:
                self._version = ""
                self._become(WatchState.LISTING, "too old")
            except ForbiddenError as error:
                self._refused(error)
            except NotFoundError as error:
                self._version = ""
                self._become(WatchState.ABSENT, error.message)
            except (LineTooLongError, msgspec.MsgspecError, ValueError) as error:
                self._become(WatchState.FAILING, f"not the words of an API server: {error}")
            except ApplyRefusedError as error:
                self._answered_with(error)
            except ClusterUnreachableError as error:
                self._errors = 0
                self._become(WatchState.FAILING, str(error))
            await asyncio.sleep(self._pause())

    async def _follow(self) -> None:
        """List where there is no version to resume from, then watch until the server ends it."""
        if self._has_begun:
            await self._client.cluster_uid()  # raises where it is another one
        self._has_begun = True
        if self._version and await self._was_set_back():
            _log.warning("cluster was set back: listed again", kind=self._subject.name)
            self._version = ""
            self._sink.forget_versions()
        if not self._version:
            self._version = await self._list()
        await self._watch()

    async def _was_set_back(self) -> bool:
        """Tell whether the server's newest version is older than one that it sent before."""
        query = {**self._subject.query, "limit": "1"}
        async for page in pages(self._client, self._subject.path, query, size=1):
            return (
                0 < version_number(page.metadata.resource_version) < version_number(self._version)
            )
        return False

    async def _list(self) -> str:
        self._sink.begin_list()
        version = ""
        async for page in pages(self._client, self._subject.path, self._subject.query):
            for number, raw in enumerate(page.items or ()):
                self._sink.put(bytes(raw))
                if number % _SLICE == _SLICE - 1:
                    await asyncio.sleep(0)  # let others run: a page can be long
            version = page.metadata.resource_version
        self._sink.end_list(version)
        return version

    async def _watch(self) -> None:
        seconds = random.randint(_SHORTEST_WATCH, _LONGEST_WATCH)  # noqa: S311  spreads reconnects
        query = {
            **self._subject.query,
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(seconds),
        }
        opened = self._client.watch(self._subject.path, query, idle_seconds=_IDLE_SECONDS)
        async with opened as body:
            self._errors = 0
            self._become(WatchState.WATCHING)
            await self._read(body)

    async def _read(self, body: aiohttp.StreamReader) -> None:
        with self._client.answer_bytes.share() as share:
            lines = Lines(share)
            async for chunk in body.iter_any():
                for line in lines.feed(chunk):
                    self._hear(line)

    def _hear(self, line: bytes) -> None:
        self._failures = 0
        event = read_event(line)
        match event.type:
            case EventType.ADDED | EventType.MODIFIED:
                self._sink.put(event.raw)
            case EventType.DELETED:
                self._sink.remove(event.raw)
            case EventType.BOOKMARK:
                pass
            case EventType.ERROR:
                raise refusal(event.code, event.raw)
            case _:
                assert_never(event.type)
        self._version = event.resource_version or self._version

    def _become(self, state: WatchState, why: str = "") -> None:
        before, self.state, self.why = self.state, state, why
        if before is state:
            return
        if state is WatchState.FORBIDDEN:
            _log.warning("kind not watched: no right to", kind=self._subject.name, cause=why)
        elif state is WatchState.REFUSED:
            _log.warning("kind not watched: only errors", kind=self._subject.name, cause=why)
        else:
            _log.debug("watch", kind=self._subject.name, state=state, cause=why)
        self._on_state(state, why)

    def _refused(self, error: ForbiddenError) -> None:
        """Report a refusal; an API server that just started may refuse what it will grant."""
        if self._failures >= _REFUSALS_TO_BELIEVE:
            self._become(WatchState.FORBIDDEN, error.message)

    def _answered_with(self, error: ApplyRefusedError) -> None:
        self._errors += 1
        many = self._errors >= _ERRORS_TO_BELIEVE
        self._become(WatchState.REFUSED if many else WatchState.FAILING, error.message)

    def _pause(self) -> float:
        """Return the seconds to wait: doubling, with jitter; longer where rights are missing."""
        self._failures += 1
        forbidden = self.state is WatchState.FORBIDDEN
        most = _LONGEST_PAUSE_WITHOUT_RIGHTS if forbidden else _LONGEST_PAUSE
        longest = min(most, _FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  spreads load
