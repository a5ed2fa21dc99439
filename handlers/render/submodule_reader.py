"""SubmoduleReader reads the submodules that a render turns out to need.

A submodule is a source of the Application's project like any other: `spec.sourceRepos` has to
permit its repository, which is read with the login that the project has for it, and its commit is
proven as the project demands. Only the commit that its parent names is ever read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bus.local_address import leads_inside
from bus.redaction import without_user_info
from bus.repository_url import login_of
from bus.status import Reason
from handlers.application.application import Application
from handlers.application.project import source_permitted
from handlers.application.source_address import SourceAddress, SourceKind
from handlers.application.source_integrity import integrity_problems
from handlers.application.spec import Source
from handlers.ports import (
    ApplicationLookup,
    FileNeededError,
    RepositoryAccess,
    RepositoryError,
    Sources,
)
from handlers.ports.render_record import SourceRecord
from handlers.ports.rendering import RenderError
from handlers.render.git_modules import absolute_url
from handlers.render.source_resolver import ResolvedSource
from handlers.render.submodule_tree import (
    Submodule,
    SubmoduleNeededError,
    SubmoduleTree,
    with_submodules,
)

Made = TypeVar("Made")
_MOST = 32
"""Submodules of one render."""
_DEEPEST = 5
_MOST_FILES = 64
"""Files of one render that are fetched by themselves."""
_SECONDS = 120.0
"""Limit of reading all submodules of one render: it is said before the handler is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmoduleReader:
    sources: Sources
    apps: ApplicationLookup
    is_on: bool = True
    """Whether submodules are read at all; else their folders are empty, as in Argo CD."""
    seconds: float = _SECONDS

    async def completed(self, app: Application, make: Callable[[], Awaitable[Made]]) -> Made:
        """Make something of trees, with the submodules and files that turn out to be needed.

        Raises RenderError where one cannot be read.
        """
        until = asyncio.get_running_loop().time() + self.seconds
        count = files = 0
        while True:
            try:
                return await make()
            except SubmoduleNeededError as needed:
                count += 1
                if count > _MOST:
                    text = f"more than {_MOST} submodules would be read for one render"
                    raise _refused(needed, Reason.OUTPUT_TOO_LARGE, text) from needed
                try:
                    async with asyncio.timeout_at(until):
                        found = await self._read(app.spec.project, needed)
                except TimeoutError as late:
                    text = f"not read within {self.seconds:g} s; it is tried again"
                    raise _refused(needed, Reason.REPOSITORY_UNREACHABLE, text) from late
                needed.tree.read_ones[needed.path] = found
            except FileNeededError as needed_file:
                files += 1
                if files > _MOST_FILES:
                    text = f"more than {_MOST_FILES} files of LFS would be fetched for one render"
                    raise RenderError(Reason.OUTPUT_TOO_LARGE, text) from needed_file
                await _fetched(needed_file, until)

    async def _read(self, project: str, needed: SubmoduleNeededError) -> Submodule:
        parent, written = needed.tree, needed.tree.urls[needed.path]
        shown = without_user_info(written)[:200]
        if parent.depth >= _DEEPEST:
            text = f"submodules are read {_DEEPEST} deep; put it higher"
            raise _refused(needed, Reason.OUTPUT_TOO_LARGE, text)
        try:
            source = _source(written, parent)
        except ValueError as error:
            text = f"{error}; correct its url in .gitmodules"
            raise _refused(needed, Reason.INVALID_SPEC, text) from error
        rules = self.apps.project(project)
        if rules is None or not source_permitted(rules, source):
            text = (
                f"its repository {shown} is not permitted by sourceRepos of the AppProject "
                f"{project!r}; permit it there, or remove the submodule"
            )
            raise _refused(needed, Reason.NOT_PERMITTED, text)
        if problems := list(integrity_problems(rules, (source,))):
            raise _refused(needed, Reason.INVALID_SPEC, "; ".join(problems))
        try:
            access = self.sources.access(source, project)
            _check_place(needed, access)
            revision = parent.gitlink(needed.path)
            files = await self.sources.tree(access, revision)
        except RepositoryError as error:
            raise _refused(needed, error.reason, error.message) from error
        place = parent.place_of(needed.path)
        tree = with_submodules(files, access, at=place, depth=parent.depth + 1)
        return Submodule(path=place, access=access, revision=revision, tree=tree)


def _check_place(needed: SubmoduleNeededError, access: RepositoryAccess) -> None:
    """Refuse an address of this machine or its link, unless the parent is at one."""
    if leads_inside(access.url.origin.host, needed.tree.access.url.origin.host):
        text = (
            "its repository is at an address of the agent's machine, of its link or of a cloud's "
            "metadata; name the Git host in .gitmodules"
        )
        raise _refused(needed, Reason.NOT_PERMITTED, text)


async def _fetched(needed: FileNeededError, until: float) -> None:
    try:
        async with asyncio.timeout_at(until):
            await needed.fetch()
    except RepositoryError as error:
        raise RenderError(error.reason, error.message) from error
    except TimeoutError as late:
        text = f"{needed.message} (not fetched in time)"
        raise RenderError(Reason.REPOSITORY_UNREACHABLE, text) from late


def _source(written: str, parent: SubmoduleTree) -> Source:
    """The repository of a submodule; raises ValueError where its URL names none."""
    source = Source(repo_url=absolute_url(written, parent.access.url))
    if SourceAddress.of(source).kind is not SourceKind.GIT:
        raise ValueError("its URL is one of a registry, and of no Git repository")
    login = login_of(source.repo_url)
    if login is not None and login.password:
        raise ValueError("its URL has a password, which belongs into a Secret")
    return source


def require_submodules(
    kept: Sequence[SourceRecord | None], sources: Sequence[ResolvedSource]
) -> None:
    """Ask for the submodules of renders that are kept: what was permitted may be no more."""
    for record in kept:
        for one in sources:
            if record and isinstance(one.tree, SubmoduleTree):
                for path in record.submodules if record.repository == one.access.key else ():
                    one.tree.require(path)


def _refused(needed: SubmoduleNeededError, reason: Reason, why: str) -> RenderError:
    place = needed.tree.place_of(needed.path)
    key = needed.tree.access.key
    return RenderError(reason, f"the submodule {place!r} of {key}: {why}", file=place)
