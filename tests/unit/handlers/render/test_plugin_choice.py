"""Which plugin renders a source, and when no other tool may instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from bus.identity import NO_DIGEST, AppKey, RepositoryKey, Revision
from bus.repository_url import RepositoryUrl
from bus.status import Reason
from handlers.application.application import Application
from handlers.ports import CommitTree, RepositoryAccess
from handlers.ports.plugins import PluginMatch
from handlers.ports.render_record import RenderRecord, SourceRecord
from handlers.ports.rendering import PluginRecipe, Recipe, RenderError, SourceType
from handlers.render.plugin_choice import PluginChoice, RenderHistory, histories
from handlers.render.source_resolver import ResolvedSource
from tests.unit.agent.renderer.written_tree import WrittenTree
from tests.unit.handlers.application.builders import REPO, application

YES, NO, UNCONFIGURED = PluginMatch.MATCHES, PluginMatch.DIFFERS, PluginMatch.UNCONFIGURED
DOWN = None
"""A plugin that fails."""
BEFORE, NEVER = RenderHistory("Plugin", "cue"), RenderHistory()


@dataclass(frozen=True)
class AnsweringPlugins:
    answers: Mapping[str, PluginMatch | None]

    def names(self) -> tuple[str, ...]:
        return tuple(self.answers)

    async def match(
        self, recipe: Recipe, tree: CommitTree, *, project: str, hard: bool = False
    ) -> PluginMatch:
        assert recipe.plugin is not None
        answer = self.answers[recipe.plugin.name]
        if answer is None:
            raise RenderError(Reason.PLUGIN_FAILED, f"{recipe.plugin.name} is down")
        return answer


def recipe_with(one: ResolvedSource, plugin: str) -> Recipe:
    name, named = one.app.metadata.name, PluginRecipe(plugin, ())
    return Recipe(type=SourceType.PLUGIN, path="web", app_name=name, namespace="x", plugin=named)


async def chosen(
    answers: Mapping[str, PluginMatch | None],
    block: Mapping[str, Any] | None = None,
    before: RenderHistory = NEVER,
) -> str:
    app = application({"source": {"repoURL": REPO, "path": "web", **(block or {})}})
    assert app.source is not None
    source = ResolvedSource(
        app=app,
        source=app.source,
        access=RepositoryAccess(RepositoryUrl.parse(REPO)),
        revision=Revision("1" * 40),
        tree=WrittenTree({}),
    )
    choice = PluginChoice(plugins=AnsweringPlugins(answers), recipe_with=recipe_with)
    (found,) = await choice.of_each([source], [before])
    return found.plugin


CASES: dict[str, tuple[dict[str, PluginMatch | None], dict[str, Any] | None, str]] = {
    "no plugins": ({}, None, ""),
    "the first that recognises it": ({"a": NO, "b": YES, "c": YES}, None, "b"),
    "none by itself": ({"a": UNCONFIGURED}, None, ""),
    "another tool is named": ({"a": YES}, {"helm": {}}, ""),
    "named, looks for nothing": ({"a": UNCONFIGURED}, {"plugin": {"name": "a"}}, "a"),
    "named, recognises it": ({"a": YES, "b": YES}, {"plugin": {"name": "b"}}, "b"),
    "a block without a name": ({"a": NO, "b": YES}, {"plugin": {}}, "b"),
    "one is down, the next recognises it": ({"a": DOWN, "b": YES}, None, "b"),
}


@pytest.mark.parametrize(("answers", "block", "name"), CASES.values(), ids=CASES)
async def test_a_plugin_is_chosen_by_name_or_by_what_it_recognises(
    answers: dict[str, PluginMatch | None], block: dict[str, Any] | None, name: str
) -> None:
    assert await chosen(answers, block) == name


WRONG: dict[str, tuple[dict[str, PluginMatch | None], dict[str, Any] | None, str]] = {
    "no such name": ({"b": YES}, {"plugin": {"name": "a"}}, r"no plugin 'a'.*\(there are b\)"),
    "named, differs": ({"a": NO}, {"plugin": {"name": "a"}}, "does not recognise this source"),
    "named, down": ({"a": DOWN}, {"plugin": {"name": "a"}}, "a is down"),
    "nobody": ({"a": UNCONFIGURED}, {"plugin": {}}, r"no plugin recognises .*asked were a"),
    "never rendered, one is down": ({"a": DOWN}, None, "a is down"),
}


@pytest.mark.parametrize(("answers", "block", "message"), WRONG.values(), ids=WRONG)
async def test_a_plugin_that_cannot_be_chosen_is_named(
    answers: dict[str, PluginMatch | None], block: dict[str, Any] | None, message: str
) -> None:
    with pytest.raises(RenderError, match=message):
        await chosen(answers, block)


@pytest.mark.parametrize("answers", [{}, {"other": NO}, {"cue": DOWN}], ids=str)
async def test_a_source_of_a_plugin_falls_to_no_other_tool(
    answers: dict[str, PluginMatch | None],
) -> None:
    with pytest.raises(RenderError):
        await chosen(answers, before=BEFORE)
    assert await chosen(answers, {"directory": {}}, BEFORE) == ""


async def test_a_source_that_its_plugin_no_longer_recognises_is_free() -> None:
    assert await chosen({"cue": NO}, before=BEFORE) == ""


async def test_a_plugin_that_is_down_stops_no_source_of_another_tool() -> None:
    assert await chosen({"cue": DOWN}, before=RenderHistory("Helm")) == ""


def test_what_rendered_before_is_known_from_the_status_and_the_record() -> None:
    def of(app: Application, *plugins: str) -> list[RenderHistory]:
        sources = tuple(
            SourceRecord(repository=RepositoryKey.of(REPO), revision=Revision("1"), plugin=one)
            for one in plugins
        )
        last = RenderRecord(
            app=AppKey("argocd", "web"), sources=sources, digest=NO_DIGEST, objects=0
        )
        return list(histories(app, last))

    one = application(status={"sourceType": "Plugin"})
    assert of(one, "cue") == [BEFORE]
    assert of(one, "cue", "helm") == [RenderHistory("Plugin")]
    assert list(histories(application(), None)) == [RenderHistory()]
    entries = [{"repoURL": REPO, "path": name} for name in "abc"]
    spec = {"source": None, "sources": entries}
    several = application(spec, status={"sourceTypes": ["Helm", "Plugin"]})
    assert of(several, "", "cue", "") == [RenderHistory("Helm"), BEFORE, RenderHistory()]
