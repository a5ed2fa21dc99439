"""SourceResolver finds the revision and the files of each source of an Application.

A resolved source carries the Application as if it had no other source, so that a recipe is made of
one source alone, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from bus.identity import Revision
from bus.status import Reason
from handlers.application.application import Application
from handlers.application.source_address import SourceKind
from handlers.application.spec import Source
from handlers.ports import CommitTree, RepositoryAccess, RepositoryError, Sources
from handlers.ports.rendering import RenderError
from handlers.render.submodule_tree import with_submodules


class ResolvedSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source at a revision, with its files."""

    app: Application
    """The Application as if this was its only source."""
    source: Source
    access: RepositoryAccess
    revision: Revision
    tree: CommitTree
    place: str = ""
    """Its place among several, as `spec.sources[1]`."""
    unsupported: tuple[str, ...] = ()
    """Sentences about fields of its override files that this version does not act on."""
    plugin: str = ""
    """The plugin that renders it; empty for the other tools."""

    def located(self, error: RenderError) -> RenderError:
        """The error with the place of the source in front, where there are several."""
        if not self.place:
            return error
        message = f"{self.place}: {error.message}"
        return RenderError(
            error.reason, message, file=error.file, document=error.document, line=error.line
        )


def with_only(app: Application, source: Source) -> Application:
    """The Application as if this was its only source."""
    return replace(app, spec=replace(app.spec, source=source, sources=()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResolver:
    sources: Sources
    submodules: bool = True
    """Whether the files of submodules are there."""

    async def resolve(
        self,
        app: Application,
        revisions: Sequence[str],
        *,
        fetch: Iterable[RepositoryAccess] | None = (),
    ) -> tuple[ResolvedSource, ...]:
        """Resolve each source at its target in `revisions`; `fetch` first, None for all of them.

        One target of one repository is one revision, also where a push comes in between.
        Raises RepositoryError, with the repository, and RenderError.
        """
        pairs = [(self.sources.access(one, app.spec.project), one) for one in app.sources]
        fetched = (one for one, _ in pairs) if fetch is None else fetch
        for access in dict.fromkeys(fetched):
            await self._fetch(access)
        found = list(zip(pairs, revisions, strict=True))
        asked = dict.fromkeys((access, target) for (access, _), target in found)
        known = {one: await self._revision(*one) for one in asked}
        several = bool(app.spec.sources)
        return tuple(
            [
                await self._resolved(
                    with_only(app, source) if several else app,
                    access,
                    known[access, target],
                    f"spec.sources[{place}]" if several else "",
                )
                for place, ((access, source), target) in enumerate(found)
            ]
        )

    async def _fetch(self, access: RepositoryAccess) -> None:
        with _named_in_errors(access):
            await self.sources.fetch(access)

    async def _revision(self, access: RepositoryAccess, target: str) -> Revision:
        with _named_in_errors(access):
            return await self.sources.resolve(access, target)

    async def _resolved(
        self, app: Application, access: RepositoryAccess, revision: Revision, place: str
    ) -> ResolvedSource:
        if app.source is None:
            raise RenderError(Reason.INVALID_SPEC, "spec.source is missing")
        with _named_in_errors(access):
            tree = await self.sources.tree(access, revision)
            if self.submodules and access.kind is SourceKind.GIT:
                tree = with_submodules(tree, access)
        return ResolvedSource(
            app=app, source=app.source, access=access, revision=revision, tree=tree, place=place
        )


@contextmanager
def _named_in_errors(access: RepositoryAccess) -> Iterator[None]:
    """Say of which repository an error is."""
    try:
        yield
    except RepositoryError as error:
        error.repository = access.key
        raise
