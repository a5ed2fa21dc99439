"""RemoteBases reads the Git repositories that a kustomization names, as sources of its project.

What a kustomization names is fetched where `spec.sourceRepos` of the Application's project permits
the repository, with the login that the project has for it, and only of commits that are proven
where the project demands it. A base that names a branch, a tag or nothing follows it: its
repository is looked at as those of sources are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec

from bus.identity import Revision
from bus.local_address import leads_inside
from bus.redaction import without_user_info
from bus.repository_url import RepositoryUrlError, login_of
from bus.status import Reason
from handlers.application.project import source_permitted
from handlers.application.source_integrity import integrity_problems
from handlers.ports import (
    ApplicationLookup,
    Clock,
    CommitTree,
    RepositoryAccess,
    RepositoryError,
    Sources,
)
from handlers.ports.remote_base import RemoteBase
from handlers.ports.render_record import BaseRecord, SourceProof
from handlers.ports.rendering import MissingBasesError, RenderError
from handlers.render.fetched_again import all_hold, is_older
from handlers.render.read_set import holds
from handlers.render.source_proof import SourceProver
from handlers.render.source_resolver import ResolvedSource, with_only

Result = TypeVar("Result")
Bases = Mapping[RemoteBase, CommitTree]

_MOST_BASES = 30
"""It limits how deep they are nested, too: a circle of them is refused by kustomize."""
_LOOK_EVERY = 60.0
"""Seconds for which a look at a repository serves everybody."""
_SECONDS = 120.0
"""Limit of reading all bases of one render: what it lacks is said before the handler is cut."""
_LOOK_SECONDS = 30.0
"""Limit of asking whether the same bases would be read."""


class ResolvedBase(msgspec.Struct, frozen=True):
    """A remote base at a commit that may be rendered, with its files."""

    wanted: RemoteBase
    access: RepositoryAccess
    revision: Revision
    tree: CommitTree
    proof: SourceProof

    def record(self, read_set: Mapping[str, str]) -> BaseRecord:
        return BaseRecord(
            wanted=self.wanted,
            repository=self.access.key,
            project=self.access.project,
            revision=self.revision,
            read_set=dict(read_set),
            proof=self.proof,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBases:
    sources: Sources
    apps: ApplicationLookup
    prover: SourceProver
    clock: Clock
    seconds: float = _SECONDS
    look_seconds: float = _LOOK_SECONDS

    async def completed(
        self,
        render: Callable[[Bases], Awaitable[Result]],
        user: ResolvedSource,
        *,
        look: bool = False,
    ) -> tuple[Result, tuple[ResolvedBase, ...]]:
        """Render `user` with the bases that turn out to be missing; raises RenderError.

        Each try names those that are missing so far, and one of them may name others.
        """
        found = dict[RemoteBase, ResolvedBase]()
        until = asyncio.get_running_loop().time() + self.seconds
        while True:
            try:
                result = await render({wanted: base.tree for wanted, base in found.items()})
            except MissingBasesError as error:
                missing = [wanted for wanted in error.bases if wanted not in found]
                if not missing:
                    raise
                if len(found) + len(missing) > _MOST_BASES:
                    raise _too_many(missing[0]) from error
                for wanted in missing:
                    try:
                        async with asyncio.timeout_at(until):
                            found[wanted] = await self.read(wanted, user, look=look)
                    except TimeoutError as late:
                        raise _late(wanted, self.seconds) from late
            else:
                return result, tuple(found.values())

    async def read(
        self, wanted: RemoteBase, user: ResolvedSource, *, look: bool = False
    ) -> ResolvedBase:
        """Fetch a base, and have its commit proven; raises RenderError."""
        access = self._access(wanted, user.app.spec.project)
        if leads_inside(access.url.origin.host, user.access.url.origin.host):
            raise _local(wanted)
        try:
            if look or (
                not wanted.is_exact and is_older(self.sources, self.clock, access, _LOOK_EVERY)
            ):
                await self.sources.fetch(access)
            revision = await self.sources.resolve(access, wanted.ref)
            tree = await self.sources.tree(access, revision)
            resolved = ResolvedSource(
                app=with_only(user.app, wanted.source),
                source=wanted.source,
                access=access,
                revision=revision,
                tree=tree,
                place=user.place,
            )
            proof = await self.prover.prove_base(resolved)
        except RepositoryError as error:
            raise _unreadable(wanted, error) from error
        return ResolvedBase(wanted, access, revision, tree, proof)

    async def hold(
        self, records: Sequence[BaseRecord], project: str, *, look: bool = False
    ) -> bool:
        """Whether a render would read the same of them now; `look` asks their servers first."""
        return await all_hold(
            records, partial(self._holds, project=project, look=look), self.look_seconds
        )

    async def _holds(self, record: BaseRecord, project: str, *, look: bool) -> bool:
        if not self.prover.base_holds(record, project):
            return False
        try:
            access = self._access(record.wanted, project)
            if (access.key, access.project) != (record.repository, record.project):
                return False
            if look and not record.wanted.is_exact:
                with suppress(RepositoryError):
                    await self.sources.fetch(access)
            revision = await self.sources.resolve(access, record.wanted.ref)
            if revision == record.revision:
                return True
            return holds(record.read_set, await self.sources.tree(access, revision))
        except (RenderError, RepositoryError):
            return False  # the render meets the same error, and says it

    def _access(self, wanted: RemoteBase, project: str) -> RepositoryAccess:
        known = self.apps.project(project)
        if _has_password(wanted):
            text = (
                f"the remote base {_shown(wanted)} has a password in its URL; store it in a Secret"
            )
            raise RenderError(Reason.INVALID_SPEC, text)
        if known is None or not source_permitted(known, wanted.source):
            raise RenderError(
                Reason.NOT_PERMITTED,
                f"the remote base {_shown(wanted)} is of a repository that the AppProject "
                f"{project!r} does not permit; add {without_user_info(wanted.repository)} to its "
                "spec.sourceRepos, or copy the base into the repository",
            )
        if problems := list(integrity_problems(known, (wanted.source,))):
            raise RenderError(Reason.INVALID_SPEC, f"the remote base: {'; '.join(problems)}")
        try:
            return self.sources.access(wanted.source, project)
        except RepositoryError as error:
            raise _unreadable(wanted, error) from error


def _has_password(wanted: RemoteBase) -> bool:
    """Raises RenderError where the URL names no repository."""
    try:
        login = login_of(wanted.repository)
    except RepositoryUrlError as error:
        text = f"the remote base {_shown(wanted)} cannot be read: {error}"
        raise RenderError(Reason.INVALID_SPEC, text) from error
    return login is not None and bool(login.password)


def _shown(wanted: RemoteBase) -> str:
    where = without_user_info(wanted.repository)[:200]
    return f"{where}?ref={wanted.ref[:100]}" if wanted.ref else where


def _local(wanted: RemoteBase) -> RenderError:
    return RenderError(
        Reason.NOT_PERMITTED,
        f"the remote base {_shown(wanted)} is at an address of the agent's machine, of its link or "
        "of a cloud's metadata; name the Git host, or copy the base into the repository",
    )


def _too_many(wanted: RemoteBase) -> RenderError:
    return RenderError(
        Reason.OUTPUT_TOO_LARGE,
        f"the kustomization names more than {_MOST_BASES} remote bases, {_shown(wanted)} among "
        "them; use fewer, or copy some into the repository",
    )


def _late(wanted: RemoteBase, seconds: float) -> RenderError:
    return RenderError(
        Reason.REPOSITORY_UNREACHABLE,
        f"the remote base {_shown(wanted)}: the bases of this render were not read within "
        f"{seconds:g} s; what is here by now is kept, and the rest is tried again. Look at the "
        "server, or copy the base into the repository",
    )


def _unreadable(wanted: RemoteBase, error: RepositoryError) -> RenderError:
    return RenderError(error.reason, f"the remote base {_shown(wanted)}: {error.message}")
