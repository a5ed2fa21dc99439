"""Kept sources: which sources of the last render would come out the same, and their objects. Pure.

A source is known by what it is made of, not by its place: where the order changes, or another one
comes in between, nothing is evaluated again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from bus.identity import RepositoryKey, Revision
from handlers.manifest.manifest_assembly import ObjectOrigin, Written
from handlers.ports.render_record import RenderRecord, SourceRecord
from handlers.ports.rendering import Recipe, RecordedOrigin, RenderResult
from handlers.render.read_set import holds
from handlers.render.source_resolver import ResolvedSource
from handlers.render.submodule_tree import SubmoduleTree, commit_of

Recipes = Sequence[Recipe | None]
"""One for each source; None where the source renders nothing."""


def kept_sources(
    last: RenderRecord | None, sources: Sequence[ResolvedSource], recipes: Recipes
) -> tuple[SourceRecord | None, ...]:
    """The record of each source whose render holds; None for one that is to be rendered."""
    known = last.sources if last is not None else ()
    refs = refs_of(sources)
    rendered = [
        next((it for it in known if _same(it, one, recipe, refs)), None) if recipe else None
        for one, recipe in zip(sources, recipes, strict=True)
    ]
    return tuple(
        record if recipe else _kept_ref(known, one, recipes, rendered)
        for one, recipe, record in zip(sources, recipes, rendered, strict=True)
    )


def refs_of(sources: Sequence[ResolvedSource]) -> Mapping[str, ResolvedSource]:
    return {one.source.ref: one for one in sources if one.source.ref}


def _same(
    record: SourceRecord,
    source: ResolvedSource,
    recipe: Recipe,
    refs: Mapping[str, ResolvedSource],
) -> bool:
    if record.repository != source.access.key or record.recipe != recipe.fingerprint:
        return False
    if record.submodules and not isinstance(source.tree, SubmoduleTree):
        return False  # none is read any more
    if not holds(record.read_set, commit_of(source.tree)):
        return False
    return all(
        name in refs
        and refs[name].access.key == one.repository
        and holds(one.read_set, commit_of(refs[name].tree))
        for name, one in record.refs.items()
    )


def _kept_ref(
    known: Sequence[SourceRecord],
    source: ResolvedSource,
    recipes: Recipes,
    rendered: Sequence[SourceRecord | None],
) -> SourceRecord | None:
    """The record of a source that only lends files: it stays while none that reads them changed."""
    readers = (
        record
        for record, recipe in zip(rendered, recipes, strict=True)
        if recipe is not None and source.source.ref in recipe.refs
    )
    if not all(readers):
        return None
    same = (one for one in known if not one.recipe and one.repository == source.access.key)
    return next(same, None)


class SourceObjects(msgspec.Struct, frozen=True):
    """The objects of one source as they are kept: not placed, not marked."""

    objects: tuple[msgspec.Raw, ...]
    origins: tuple[RecordedOrigin, ...]


def kept_content(rendered: RenderResult) -> bytes:
    objects = tuple(msgspec.Raw(one) for one in rendered.objects)
    return msgspec.json.encode(SourceObjects(objects, rendered.origins))


def written_in(content: bytes, place: int) -> tuple[Written, ...]:
    """Decode what `kept_content` encoded, of the source at this place."""
    kept = msgspec.json.decode(content, type=SourceObjects)
    return tuple(
        (ObjectOrigin(origin.file, origin.document, place), msgspec.json.decode(one))
        for origin, one in zip(kept.origins, kept.objects, strict=True)
    )


def is_whole(last: RenderRecord, kept: Sequence[SourceRecord | None]) -> bool:
    """Whether the last render was of exactly these sources, in this order."""
    return last.sources == tuple(kept)


def moved_together(
    record: RenderRecord,
    sources: Sequence[ResolvedSource],
    recipes: Recipes,
    kept: Container[int],
) -> RenderRecord:
    """The record with one look at each repository of which anything was read anew.

    So sources of one repository never have the commits of two looks. `kept` are the places of those
    that were not.
    """
    refs = refs_of(sources)
    read = set[RepositoryKey]()
    for place, (one, recipe) in enumerate(zip(sources, recipes, strict=True)):
        if place not in kept:
            names = recipe.refs if recipe else ()
            read |= {one.access.key, *(refs[name].access.key for name in names)}
    looks = (
        source.revision if source.access.key in read else one.revision
        for one, source in zip(record.sources, sources, strict=True)
    )
    return _with_revisions(record, looks)


def at_revisions(record: RenderRecord, sources: Sequence[ResolvedSource]) -> RenderRecord:
    """The record with the revisions that are looked at now; itself where its sources are there."""
    return _with_revisions(record, (one.revision for one in sources))


def _with_revisions(record: RenderRecord, revisions: Iterable[Revision]) -> RenderRecord:
    pairs = list(zip(record.sources, revisions, strict=True))
    if all(one.revision == revision for one, revision in pairs):
        return record
    moved = tuple(msgspec.structs.replace(one, revision=revision) for one, revision in pairs)
    return msgspec.structs.replace(record, sources=moved)
