"""PluginSidecars asks the plugins beside the agent; it is the port Plugins, and renders by them.

Each plugin has a few turns at once. A call that gets none soon comes back later, so that a plugin
that hangs holds up its own Applications and no others. What was not done in time is remembered for
its recipe, and not tried again before somebody asks for a hard refresh or some time has passed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from agent.plugins.plugin_client import (
    PluginAnnouncement,
    PluginAnswer,
    PluginCall,
    PluginClient,
    PluginFault,
)
from agent.plugins.plugin_limits import PluginLimits
from agent.plugins.plugin_sockets import PluginSocket, plugin_sockets
from agent.plugins.repository_archive import packed
from bus.identity import Digest
from bus.status import Reason
from handlers.ports import CommitTree, RendererBusyError
from handlers.ports.plugins import PluginMatch
from handlers.ports.rendering import PluginRecipe, Recipe, RenderError

_Value = TypeVar("_Value")
_REMEMBERED = 4096
_LONGEST = 2000
_WORK_FOLDER = re.compile(r"/\S*_cmp_server/[0-9a-f-]{36}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")


class _Asked(NamedTuple):
    """A question that was asked: of which start of a plugin, and with what."""

    socket: str
    recipe: Digest


@dataclass(slots=True, kw_only=True)
class PluginSidecars:
    folder: Path | None
    """Where the sockets are; None where there are no plugins."""
    client: PluginClient
    scratch: Path
    limits: PluginLimits = field(default_factory=PluginLimits)
    now: Callable[[], float] = time.monotonic
    _turns: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    _matches: OrderedDict[_Asked, PluginMatch] = field(default_factory=OrderedDict)
    _overruns: OrderedDict[_Asked, float] = field(default_factory=OrderedDict)
    _failing: dict[str, tuple[float, RenderError]] = field(default_factory=dict)

    def sockets(self) -> tuple[PluginSocket, ...]:
        return plugin_sockets(self.folder)

    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.sockets())

    async def match(
        self,
        recipe: Recipe,
        tree: CommitTree,
        *,
        project: str = "",  # noqa: ARG002  plugins take turns by plugin
        hard: bool = False,
    ) -> PluginMatch:
        """Ask the recipe's plugin whether it recognises the files; see the port."""
        socket = self._socket(_plugin(recipe))
        asked = _Asked(socket.identity, recipe.fingerprint)
        if not hard and (known := self._matches.get(asked)) is not None:
            return known
        if not hard and (error := self._recent_failure(socket)) is not None:
            raise error
        try:
            found = await self._matched(socket, recipe, tree)
        except RenderError as error:
            self._failing[socket.identity] = (self.now() + self.limits.failing_seconds, error)
            raise
        self._failing.pop(socket.identity, None)
        _remember(self._matches, asked, found)
        return found

    async def generate(self, recipe: Recipe, tree: CommitTree, *, hard: bool = False) -> bytes:
        """Return the manifests as YAML; raises RenderError, RepositoryError, RendererBusyError."""
        socket = self._socket(_plugin(recipe))
        asked = _Asked(socket.identity, recipe.fingerprint)
        if not hard and self._overruns.get(asked, 0.0) > self.now():
            raise self._error(socket, PluginFault("DeadlineExceeded", ""))
        try:
            _, manifests = await self._with_files("generate", socket, recipe, tree)
        except RenderError as error:
            if error.reason is Reason.DEADLINE_EXCEEDED:
                _remember(self._overruns, asked, self.now() + self.limits.overrun_seconds)
            raise
        return manifests

    async def announcements(
        self, recipe: Recipe, tree: CommitTree
    ) -> tuple[PluginAnnouncement, ...]:
        """Return the parameters that the recipe's plugin takes; raises as `generate`."""
        socket = self._socket(_plugin(recipe))
        answer, _ = await self._with_files("announce", socket, recipe, tree)
        return answer.parameters

    async def configuration(self, socket: PluginSocket) -> PluginAnswer:
        """Ask how a plugin is configured; raises RenderError, RendererBusyError."""
        async with self._turn(socket):
            call = PluginCall(
                call="check",
                socket=socket,
                seconds=self.limits.match_deadline,
                answer_bytes=1 << 16,
            )
            answer, _ = await self.client.ask(call)
        if answer.error:
            raise self._error(socket, answer.error)
        return answer

    async def _matched(self, socket: PluginSocket, recipe: Recipe, tree: CommitTree) -> PluginMatch:
        configuration = await self.configuration(socket)
        if configuration.git_login:
            raise RenderError(
                Reason.PLUGIN_FAILED,
                f"the plugin {socket.name!r} asks for the credential of the repository"
                " (provideGitCreds in its plugin.yaml), which plugins do not get from this agent;"
                " take it out, and mount what the plugin needs into its own container",
            )
        if not configuration.discovers:
            return PluginMatch.UNCONFIGURED
        answer, _ = await self._with_files("match", socket, recipe, tree)
        return PluginMatch.MATCHES if answer.supported else PluginMatch.DIFFERS

    async def _with_files(
        self, call: str, socket: PluginSocket, recipe: Recipe, tree: CommitTree
    ) -> tuple[PluginAnswer, bytes]:
        limits = self.limits
        async with self._turn(socket), packed(tree, limits, self.scratch) as archive:
            asked = PluginCall(
                call=call,
                socket=socket,
                seconds=limits.match_deadline if call == "match" else limits.deadline,
                answer_bytes=limits.output_bytes,
                path=recipe.path,
                environment=_plugin(recipe).environment,
                archive=archive,
            )
            answer, manifests = await self.client.ask(asked)
        if answer.error:
            raise self._error(socket, answer.error)
        return answer, manifests

    @asynccontextmanager
    async def _turn(self, socket: PluginSocket) -> AsyncIterator[None]:
        """Wait a little for a turn at the plugin; raises RendererBusyError."""
        turns = self._turns.setdefault(socket.name, asyncio.Semaphore(self.limits.parallel))
        try:
            async with asyncio.timeout(self.limits.patience):
                await turns.acquire()
        except TimeoutError as error:
            message = f"the plugin {socket.name!r} has too much to do"
            raise RendererBusyError(message, after=self.limits.patience) from error
        try:
            yield
        finally:
            turns.release()

    def _socket(self, plugin: PluginRecipe) -> PluginSocket:
        for one in self.sockets():
            if one.name == plugin.name:
                return one
        raise RenderError(
            Reason.PLUGIN_NOT_FOUND,
            f"the socket of the plugin {plugin.name!r} is gone; look at the agent's sidecar",
        )

    def _recent_failure(self, socket: PluginSocket) -> RenderError | None:
        until, error = self._failing.get(socket.identity, (0.0, None))
        return error if until > self.now() else None

    def _error(self, socket: PluginSocket, fault: PluginFault) -> RenderError:
        match fault.code:
            case "DeadlineExceeded":
                return RenderError(
                    Reason.DEADLINE_EXCEEDED,
                    f"the plugin {socket.name!r} was not done in time (GITOPS_PLUGINS_DEADLINE,"
                    f" {self.limits.deadline:g} s); look at the log of its container, make it"
                    " quicker or raise the limit, and refresh hard to try again",
                )
            case "ResourceExhausted":
                return RenderError(
                    Reason.OUTPUT_TOO_LARGE,
                    f"the plugin {socket.name!r} answered with more than"
                    f" {self.limits.output_bytes >> 20} MiB; let it write less, or raise"
                    " GITOPS_PLUGINS_OUTPUT_BYTES",
                )
            case "Unavailable":
                return RenderError(
                    Reason.PLUGIN_FAILED,
                    f"the plugin {socket.name!r} does not answer at its socket; look at the log of"
                    f" its container: {_clean(fault.message)}",
                )
            case _:
                return RenderError(
                    Reason.PLUGIN_FAILED,
                    f"the plugin {socket.name!r} failed: {_clean(fault.message)}",
                )


def _plugin(recipe: Recipe) -> PluginRecipe:
    if recipe.plugin is None:
        raise RenderError(Reason.PLUGIN_NOT_FOUND, f"{recipe.path}: the recipe names no plugin")
    return recipe.plugin


def _clean(message: str) -> str:
    """What a plugin wrote, without its scratch folder, which has another name each time."""
    shown = _CONTROL.sub(" ", _WORK_FOLDER.sub("", message)).strip()
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def _remember(kept: OrderedDict[_Asked, _Value], asked: _Asked, value: _Value) -> None:
    kept[asked] = value
    kept.move_to_end(asked)
    while len(kept) > _REMEMBERED:
        kept.popitem(last=False)
