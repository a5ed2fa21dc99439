"""A recipe for each source of an Application; what a source refers to has to fit. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bus.status import Reason
from handlers.application.source_refs import unknown_refs
from handlers.application.tool_settings import ToolSettings
from handlers.ports.rendering import Recipe, RenderError
from handlers.render.kept_sources import Recipes, refs_of
from handlers.render.recipes import ClusterVersions, plugin_recipe_at, recipe_at
from handlers.render.source_resolver import ResolvedSource


def source_recipes(
    sources: Sequence[ResolvedSource],
    cluster: ClusterVersions,
    tools: ToolSettings,
    *,
    one_commit: bool,
) -> Recipes:
    """Make a recipe of each source, None of one that renders nothing. Raises RenderError.

    `one_commit`: the sources of one repository have to be at one commit.
    """
    refs = refs_of(sources)
    found: list[Recipe | None] = []
    for one in sources:
        if not one.source.renders:
            found.append(None)
            continue
        try:
            _check_refs(one, tuple(refs))
            recipe = (
                plugin_recipe(cluster, one, one.plugin)
                if one.plugin
                else recipe_at(
                    one.app, one.revision, one.tree, cluster, tools=tools, refs=tuple(refs)
                )
            )
            if one_commit:
                _check_commits(one, [refs[name] for name in recipe.refs])
        except RenderError as error:
            raise one.located(error) from error
        found.append(recipe)
    return found


def plugin_recipe(cluster: ClusterVersions, one: ResolvedSource, plugin: str) -> Recipe:
    return plugin_recipe_at(one.app, one.revision, one.tree, cluster, plugin)


def _check_refs(source: ResolvedSource, names: Sequence[str]) -> None:
    """Refuse refs that no source has; those of the spec are refused before, by `validate`."""
    for problem in unknown_refs(source.source.helm, names) if source.place else ():
        raise RenderError(Reason.INVALID_SPEC, problem)


def _check_commits(source: ResolvedSource, refs: Sequence[ResolvedSource]) -> None:
    """Refuse a ref of the source's own repository at another commit, as Argo CD does."""
    for one in refs:
        if one.access.key == source.access.key and one.revision != source.revision:
            message = (
                f"the ref {one.source.ref!r} is of the same repository {one.access.key}, at "
                f"{one.revision[:7]} instead of {source.revision[:7]}; give both sources the same "
                "targetRevision"
            )
            raise RenderError(Reason.INVALID_SPEC, message)
