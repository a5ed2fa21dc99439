"""PluginSidecars asks the plugins beside the agent; it is the port Plugins, and renders by them.

What was not done in time is remembered for its recipe, and not tried again before somebody asks for
a hard refresh or some time has passed.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
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
from agent.plugins.plugin_turns import PluginTurns
from agent.plugins.repository_archive import packed
from bus.identity import Digest
from bus.status import Reason
from handlers.ports import CommitTree
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
    call: str = "match"


class _Question(NamedTuple):
    socket: PluginSocket
    recipe: Recipe
    tree: CommitTree
    project: str
    hard: bool


@dataclass(slots=True, kw_only=True)
class PluginSidecars:
    folder: Path | None
    """Where the sockets are; None where there are no plugins."""
    client: PluginClient
    scratch: Path
    limits: PluginLimits = field(default_factory=PluginLimits)
    now: Callable[[], float] = time.monotonic
    _turns: PluginTurns = field(default_factory=PluginTurns)
    _configurations: dict[str, tuple[str, PluginAnswer]] = field(default_factory=dict)
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
        project: str = "",
        hard: bool = False,
    ) -> PluginMatch:
        """Ask the recipe's plugin whether it recognises the files; see the port."""
        socket = self._socket(_plugin(recipe))
        asked = _Asked(socket.identity, recipe.fingerprint)
        if not hard and (known := self._matches.get(asked)) is not None:
            return known
        found = await self._matched(_Question(socket, recipe, tree, project, hard))
        _remember(self._matches, asked, found)
        return found

    async def generate(
        self, recipe: Recipe, tree: CommitTree, *, project: str = "", hard: bool = False
    ) -> bytes:
        """Return the manifests as YAML; raises RenderError, RepositoryError, RendererBusyError."""
        socket = self._socket(_plugin(recipe))
        question = _Question(socket, recipe, tree, project, hard)
        return (await self._with_files("generate", question))[1]

    async def announcements(
        self, recipe: Recipe, tree: CommitTree, *, project: str = ""
    ) -> tuple[PluginAnnouncement, ...]:
        """Return the parameters that the recipe's plugin takes; raises as `generate`."""
        socket = self._socket(_plugin(recipe))
        question = _Question(socket, recipe, tree, project, hard=True)
        return (await self._with_files("announce", question))[0].parameters

    async def configuration(self, socket: PluginSocket) -> PluginAnswer:
        """Ask how a plugin is configured, which costs it nothing; raises RenderError."""
        call = PluginCall(
            call="check",
            socket=socket,
            seconds=self.limits.check_deadline,
            answer_bytes=1 << 16,
        )
        answer, _ = await self.client.ask(call)
        if answer.error:
            raise self._error(socket, answer.error, self.limits.check_deadline)
        return answer

    async def _known_configuration(self, socket: PluginSocket, *, hard: bool) -> PluginAnswer:
        """The configuration of this start of the plugin; raises RenderError.

        A plugin that does not even answer this is not asked again for a while: else each
        Application would wait for it in turn. What its commands make of files is no such failure.
        """
        if (known := self._configurations.get(socket.name)) and known[0] == socket.identity:
            return known[1]
        until, failure = self._failing.get(socket.identity, (0.0, None))
        if failure is not None and until > self.now() and not hard:
            raise RenderError(failure.reason, failure.message)
        try:
            found = await self.configuration(socket)
        except RenderError as error:
            until = self.now() + self.limits.failing_seconds
            self._failing = {socket.identity: (until, error), **self._recently_failing()}
            raise
        self._configurations[socket.name] = (socket.identity, found)
        return found

    def _recently_failing(self) -> dict[str, tuple[float, RenderError]]:
        now = self.now()
        return {one: entry for one, entry in self._failing.items() if entry[0] > now}

    async def _matched(self, question: _Question) -> PluginMatch:
        socket = question.socket
        configuration = await self._known_configuration(socket, hard=question.hard)
        if configuration.git_login:
            raise RenderError(
                Reason.PLUGIN_FAILED,
                f"the plugin {socket.name!r} asks for the credential of the repository"
                " (provideGitCreds in its plugin.yaml), which plugins do not get from this agent;"
                " take it out, and mount what the plugin needs into its own container",
            )
        if not configuration.discovers:
            return PluginMatch.UNCONFIGURED
        answer, _ = await self._with_files("match", question)
        return PluginMatch.MATCHES if answer.supported else PluginMatch.DIFFERS

    async def _with_files(self, call: str, question: _Question) -> tuple[PluginAnswer, bytes]:
        """Ask with the files; what was not done in time is refused at once for a while."""
        socket, recipe, limits = question.socket, question.recipe, self.limits
        asked = _Asked(socket.identity, recipe.fingerprint, call)
        seconds = limits.match_deadline if call == "match" else limits.deadline
        if not question.hard and self._overruns.get(asked, 0.0) > self.now():
            raise self._error(socket, PluginFault("DeadlineExceeded", ""), seconds)
        try:
            async with (
                self._turns.taken(socket.name, question.project, limits),
                packed(question.tree, limits, self.scratch) as archive,
            ):
                asking = PluginCall(
                    call=call,
                    socket=socket,
                    seconds=seconds,
                    answer_bytes=limits.output_bytes,
                    path=recipe.path,
                    environment=_plugin(recipe).environment,
                    archive=archive,
                )
                answer, manifests = await self.client.ask(asking)
        except OSError as error:
            message = f"the files for the plugin {socket.name!r} cannot be written"
            raise RenderError(Reason.DISK_FULL, f"{message}: {error.strerror}") from error
        if answer.error is None:
            return answer, manifests
        if answer.error.code in ("DeadlineExceeded", "Unavailable"):
            self._configurations.pop(socket.name, None)  # perhaps it answers nothing any more
        if answer.error.code == "DeadlineExceeded":
            _remember(self._overruns, asked, self.now() + limits.overrun_seconds)
        raise self._error(socket, answer.error, seconds)

    def _socket(self, plugin: PluginRecipe) -> PluginSocket:
        for one in self.sockets():
            if one.name == plugin.name:
                return one
        raise RenderError(
            Reason.PLUGIN_NOT_FOUND,
            f"the socket of the plugin {plugin.name!r} is gone; look at the agent's sidecar",
        )

    def _error(self, socket: PluginSocket, fault: PluginFault, seconds: float) -> RenderError:
        match fault.code:
            case "DeadlineExceeded":
                return RenderError(
                    Reason.DEADLINE_EXCEEDED,
                    f"the plugin {socket.name!r} was not done within {seconds:g} s; look at the"
                    " log of its container, make it quicker or raise the limit"
                    " (GITOPS_PLUGINS_DEADLINE, GITOPS_PLUGINS_MATCH_DEADLINE), and refresh hard"
                    " to try again",
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
