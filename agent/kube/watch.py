"""One kind followed: list it, then watch it, for as long as the task lives.

The sink hears every object of a list between `begin_list` and `end_list`, and each change after
that, in the order of the server. A lost connection resumes from the last version heard (bookmarks
keep it young); only where the server has forgotten that version (410) is the kind listed again.
Whatever goes wrong is said once, retried with back-off and jitter, and said once more when it is
over. What an object means is the sink's business.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import msgspec
import structlog

from agent.kube.client import KubeClient
from agent.kube.errors import ForbiddenError, GoneError, NotFoundError, refusal
from agent.kube.lines import Lines, LineTooLongError
from agent.kube.pages import pages
from agent.kube.transport import Query
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

_log = structlog.get_logger(__name__)

_SILENCE = 150.0
_SHORTEST_WATCH, _LONGEST_WATCH = 300, 600
_SLICE = 50
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_PAUSE_WITHOUT_RIGHTS = 60.0


class Sink(Protocol):
    """Where the objects of one kind (in one namespace, or in all) go. Never blocks."""

    def begin_list(self) -> None: ...
    def put(self, raw: bytes) -> None: ...
    def remove(self, raw: bytes) -> None: ...
    def end_list(self, resource_version: str) -> None:
        """The list is complete: what was not in it is gone."""
        ...


class State(StrEnum):
    LISTING = "listing"
    WATCHING = "watching"
    FORBIDDEN = "forbidden"
    ABSENT = "absent"
    """The server does not serve this (any more)."""
    FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What to follow, and a word for it in logs."""

    name: str
    path: str
    query: Query


class _Version(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _Object(msgspec.Struct, frozen=True):
    metadata: _Version = _Version()
    code: int = 0


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class KindWatch:
    """`run` never returns; cancel it. `on_state` is told of every transition."""

    def __init__(
        self,
        client: KubeClient,
        subject: Subject,
        sink: Sink,
        on_state: Callable[[State], None] = lambda _: None,
    ) -> None:
        self.state = State.LISTING
        self._client = client
        self._subject = subject
        self._sink = sink
        self._on_state = on_state
        self._version = ""
        self._failures = 0

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
            except GoneError:
                self._version = ""
                self._become(State.LISTING, "too old")
            except ForbiddenError as error:
                self._become(State.FORBIDDEN, error.message)
            except NotFoundError as error:
                self._version = ""
                self._become(State.ABSENT, error.message)
            except (ApplyRefusedError, ClusterUnreachableError) as error:
                self._become(State.FAILING, str(error))
            await asyncio.sleep(self._pause())

    async def _follow(self) -> None:
        """A list where there is no version to go on from, then a watch until it ends by itself."""
        if not self._version:
            self._version = await self._list()
        self._become(State.WATCHING)
        await self._watch()

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
        lines = Lines()
        async with self._client.watch(self._subject.path, query, silence=_SILENCE) as body:
            async for chunk in body.iter_any():
                for line in _cut(lines, chunk):
                    self._hear(line)

    def _hear(self, line: bytes) -> None:
        self._failures = 0
        event = _decode(line)
        seen = msgspec.json.decode(event.object, type=_Object)
        match event.type:
            case "ADDED" | "MODIFIED":
                self._sink.put(bytes(event.object))
            case "DELETED":
                self._sink.remove(bytes(event.object))
            case "ERROR":
                raise refusal(seen.code, bytes(event.object))
        self._version = seen.metadata.resource_version or self._version

    def _become(self, state: State, why: str = "") -> None:
        before, self.state = self.state, state
        if before is state:
            return
        if state is State.FORBIDDEN:
            _log.warning(
                "kind not watched: no right to list and watch it",
                kind=self._subject.name,
                cause=why,
            )
        elif state is State.FAILING:
            _log.warning("watch interrupted", kind=self._subject.name, cause=why)
        elif state is State.WATCHING and before in (State.FAILING, State.FORBIDDEN):
            _log.info("watch resumed", kind=self._subject.name)
        self._on_state(state)

    def _pause(self) -> float:
        """Seconds: doubling with jitter; long where only an administrator can help."""
        self._failures += 1
        if self.state is State.FORBIDDEN:
            return _PAUSE_WITHOUT_RIGHTS * random.uniform(0.8, 1.2)  # noqa: S311  spreads load
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  spreads load


def _cut(lines: Lines, chunk: bytes) -> list[bytes]:
    try:
        return lines.feed(chunk)
    except LineTooLongError as error:
        raise ClusterUnreachableError(f"watch: {error}") from error


def _decode(line: bytes) -> _Event:
    try:
        return msgspec.json.decode(line, type=_Event)
    except msgspec.MsgspecError as error:
        raise ClusterUnreachableError("watch: a line that is no event") from error
