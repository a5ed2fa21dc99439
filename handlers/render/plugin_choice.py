"""PluginChoice finds the config management plugin that renders a source, if any does.

As in Argo CD a block `plugin` with a name means that plugin, which still has to recognise the files
if it looks for some; without a name, and for a source without any block, the plugins are asked in
order, before Chart.yaml counts. What Argo CD does not do: a source that a plugin rendered never
falls to another tool because the plugin is gone or fails, since objects would be pruned then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat, zip_longest

import msgspec
from msgspec.structs import replace

from bus.status import Reason
from handlers.application.application import Application
from handlers.ports.plugins import PluginMatch, Plugins
from handlers.ports.render_record import RenderRecord
from handlers.ports.rendering import Recipe, RenderError, SourceType
from handlers.render.source_resolver import ResolvedSource
from handlers.render.source_type import has_block


class RenderHistory(msgspec.Struct, frozen=True):
    """What rendered a source before, as far as is known."""

    type: str = ""
    """The `sourceType` in the status; empty where it was never rendered."""
    plugin: str = ""
    """The name of the plugin; empty where that was not remembered."""


def histories(app: Application, last: RenderRecord | None) -> Sequence[RenderHistory]:
    """The history of each source, by its place; the status outlives the records."""
    status, count = app.status, len(app.sources)
    types = status.source_types if app.spec.sources else (status.source_type,)
    known = last.sources if last is not None and len(last.sources) == count else ()
    found = zip_longest(types[:count], (one.plugin for one in known), fillvalue="")
    rest = repeat(RenderHistory(), count)
    return [*(RenderHistory(*one) for one in found), *rest][:count]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginChoice:
    plugins: Plugins
    recipe_with: Callable[[ResolvedSource, str], Recipe]
    """Makes the recipe of a source with a plugin."""
    hard: bool = False
    """Whether plugins are asked again that were asked of these files before."""

    async def of_each(
        self, sources: Sequence[ResolvedSource], before: Sequence[RenderHistory]
    ) -> tuple[ResolvedSource, ...]:
        """Return the sources with their plugins; raises RenderError, RendererBusyError."""
        found: list[ResolvedSource] = []
        for one, history in zip(sources, before, strict=True):
            try:
                name = await self._of(one, history) if one.source.renders else ""
            except RenderError as error:
                raise one.located(error) from error
            found.append(replace(one, plugin=name) if name else one)
        return tuple(found)

    async def _of(self, source: ResolvedSource, before: RenderHistory) -> str:
        block = source.source.plugin
        if block is None and has_block(source.source):
            return ""
        names = self.plugins.names()
        if block is not None and block.name:
            await self._check_named(block.name, names, source)
            return block.name
        refused: list[str] = []
        failures: list[RenderError] = []
        for name in names:
            try:
                match = await self._match(source, name)
            except RenderError as error:
                failures.append(error)
                continue
            if match is PluginMatch.MATCHES:
                return name
            refused.append(name)
        if block is not None:
            raise failures[0] if failures else _nobody(names)
        _check_fallback(before, refused, failures)
        return ""

    async def _match(self, source: ResolvedSource, name: str) -> PluginMatch:
        recipe, project = self.recipe_with(source, name), source.app.spec.project
        return await self.plugins.match(recipe, source.tree, project=project, hard=self.hard)

    async def _check_named(self, name: str, names: Sequence[str], source: ResolvedSource) -> None:
        if name not in names:
            there = f"there are {', '.join(names)}" if names else "there is none"
            raise RenderError(
                Reason.PLUGIN_NOT_FOUND,
                f"spec.source.plugin.name: no plugin {name!r} has its socket in the agent's folder"
                f" of plugins ({there}); correct the name (`name-version` where plugin.yaml has a"
                " version), or look at the sidecar of the agent that should run it",
            )
        if await self._match(source, name) is PluginMatch.DIFFERS:
            raise RenderError(
                Reason.PLUGIN_FAILED,
                f"the plugin {name!r} does not recognise this source: nothing there is what"
                " `discover` of its plugin.yaml looks for; correct spec.source.path or the plugin",
            )


def _check_fallback(
    before: RenderHistory, refused: Sequence[str], failures: Sequence[RenderError]
) -> None:
    """Refuse another tool where a plugin may be the right one; raises RenderError.

    A source that another tool renders already goes on with it: one plugin that fails would stop
    every Application otherwise.
    """
    if before.type == SourceType.PLUGIN:
        if failures:
            raise failures[0]
        if before.plugin and before.plugin in refused:
            return  # the plugin itself says so
        named = f"the plugin {before.plugin!r}" if before.plugin else "the plugin"
        raise RenderError(
            Reason.PLUGIN_NOT_FOUND,
            f"{named} that rendered this source is not there, and no other one recognises it;"
            " nothing is rendered by another tool instead. Bring the plugin back, or say in"
            " spec.source which tool it is: `directory: {}`, `helm: {}`, `kustomize: {}`, `plugin`",
        )
    if failures and not before.type:
        raise failures[0]


def _nobody(names: Sequence[str]) -> RenderError:
    asked = f"asked were {', '.join(names)}" if names else "there is none"
    return RenderError(
        Reason.PLUGIN_NOT_FOUND,
        f"spec.source.plugin has no name, and no plugin recognises this source ({asked}); name one"
        " in spec.source.plugin.name, or correct `discover` in its plugin.yaml",
    )
