"""ChartDependencies reads the charts that another chart depends on, as sources of its project.

What a chart names is fetched where `spec.sourceRepos` of the Application's project permits that
repository, and with the login that the project has for it. A version, or what a lock says, is read
once; a range is resolved again when somebody asks for a refresh, and by the poll.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import msgspec

from bus.address import AddressError, split_address
from bus.identity import NO_DIGEST, Revision, digest_of
from bus.local_address import leads_inside
from bus.redaction import without_user_info
from bus.repository_url import RepositoryUrlError
from bus.status import Reason
from handlers.application.project import source_permitted
from handlers.application.source_address import SourceAddress
from handlers.application.spec import Source
from handlers.ports import (
    ApplicationLookup,
    Clock,
    CommitTree,
    RepositoryAccess,
    RepositoryError,
    Sources,
)
from handlers.ports.chart_dependency import ChartDependency, DependencyRecord
from handlers.ports.rendering import MissingChartsError, RenderError, RenderResult
from handlers.render.fetched_again import all_hold, is_older

Charts = Mapping[ChartDependency, CommitTree]

_OCI = "oci://"
_SCHEMES = ("https", "http", "oci")
_NAMES = ("@", "alias:")
_MOST_CHARTS = 100
_LOOK_EVERY = 60.0
"""Seconds for which a look at the versions of a range serves everybody."""
_SECONDS = 120.0
"""Limit of reading all charts of one render: what it lacks is said before the handler is cut."""
_LOOK_SECONDS = 30.0
"""Limit of asking whether the same charts would be read."""
_LOOK_AGAIN = 5.0
"""Seconds for which a version that was not there is not looked for again."""


class DependencyChart(msgspec.Struct, frozen=True):
    """The files of a chart that another one depends on, and what to remember of them."""

    record: DependencyRecord
    tree: CommitTree


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartDependencies:
    sources: Sources
    apps: ApplicationLookup
    clock: Clock
    seconds: float = _SECONDS
    look_seconds: float = _LOOK_SECONDS

    async def completed(
        self,
        render: Callable[[Charts], Awaitable[RenderResult]],
        project: str,
        *,
        user: RepositoryAccess,
        look: bool = False,
    ) -> tuple[RenderResult, tuple[DependencyRecord, ...]]:
        """Render `user` with the charts that turn out to be missing; raises RenderError.

        Each try names those that are missing so far, and one of them may depend on others.
        """
        found = dict[ChartDependency, DependencyChart]()
        until = asyncio.get_running_loop().time() + self.seconds
        while True:
            try:
                result = await render({wanted: chart.tree for wanted, chart in found.items()})
            except MissingChartsError as error:
                missing = [wanted for wanted in error.charts if wanted not in found]
                if not missing or len(found) + len(missing) > _MOST_CHARTS:
                    raise
                for wanted in missing:
                    _check_place(wanted, self._access(wanted, project), user)
                    try:
                        async with asyncio.timeout_at(until):
                            found[wanted] = await self.read(wanted, project, look=look)
                    except TimeoutError as late:
                        raise _late(wanted, self.seconds) from late
            else:
                return result, tuple(chart.record for chart in found.values())

    async def read(
        self, wanted: ChartDependency, project: str, *, look: bool = False
    ) -> DependencyChart:
        """Fetch a chart of the version that is wanted; raises RenderError."""
        access = self._access(wanted, project)
        try:
            revision = await self._version(access, wanted, look=look)
            tree = await self.sources.tree(access, revision)
        except RepositoryError as error:
            raise _unreadable(wanted, error) from error
        return DependencyChart(_record(wanted, access, revision), tree)

    async def hold(
        self, records: Sequence[DependencyRecord], project: str, *, look: bool = False
    ) -> bool:
        """Whether the same charts would be read now; `look` asks their servers in any case."""
        return await all_hold(
            records, partial(self._holds, project=project, look=look), self.look_seconds
        )

    async def _holds(self, record: DependencyRecord, project: str, *, look: bool) -> bool:
        try:
            access = self._access(record.wanted, project)
            revision = record.revision
            if not record.wanted.is_exact:
                revision = await self._version(access, record.wanted, look=look)
            return _record(record.wanted, access, revision) == record
        except (RenderError, RepositoryError):
            return False  # the render meets the same error, and says it

    def _access(self, wanted: ChartDependency, project: str) -> RepositoryAccess:
        source = self._source(wanted, project)
        known = self.apps.project(project)
        if known is None or not source_permitted(known, source):
            raise RenderError(
                Reason.NOT_PERMITTED,
                f"the dependency {_shown(wanted)} is of a repository that the AppProject "
                f"{project!r} does not permit; add {source.repo_url} to its spec.sourceRepos, or "
                "vendor the chart in charts/",
            )
        try:
            return self.sources.access(source, project)
        except RepositoryError as error:
            raise _unreadable(wanted, error) from error

    def _source(self, wanted: ChartDependency, project: str) -> Source:
        """The dependency as a source; raises RenderError where it names no repository."""
        url = wanted.repository
        name = next((url.removeprefix(one) for one in _NAMES if url.startswith(one)), "")
        if name and not (url := self.sources.url_named(name, project)):
            raise RenderError(
                Reason.INVALID_SPEC,
                f"the dependency {_shown(wanted)} is of a repository that no Secret has the name "
                f"of; store a Secret `repository` with `name: {name[:100]}` for the AppProject "
                f"{project!r}, or write the URL",
            )
        try:
            return _source_at(url, wanted.name)
        except (AddressError, RepositoryUrlError) as error:
            text = f"the dependency {_shown(wanted)} cannot be read: {error}"
            raise RenderError(Reason.INVALID_SPEC, text) from error

    async def _version(
        self, access: RepositoryAccess, wanted: ChartDependency, *, look: bool
    ) -> Revision:
        """Resolve, after a look at the server where the last one is too old for the question.

        Where the server does not answer, what is known of it serves a range as well. A version
        that is not known is looked for once more.
        """
        if look or (not wanted.is_exact and self._is_older(access, _LOOK_EVERY)):
            with suppress(RepositoryError):
                await self.sources.fetch(access)
        try:
            return await self.sources.resolve(access, wanted.target)
        except RepositoryError as error:
            absent = error.reason is Reason.REVISION_NOT_FOUND
            if not absent or not self._is_older(access, _LOOK_AGAIN):
                raise
        await self.sources.fetch(access)
        return await self.sources.resolve(access, wanted.target)

    def _is_older(self, access: RepositoryAccess, seconds: float) -> bool:
        return is_older(self.sources, self.clock, access, seconds)


def _check_place(wanted: ChartDependency, access: RepositoryAccess, user: RepositoryAccess) -> None:
    """Refuse an address of this machine or its link, unless the chart that names it is at one."""
    is_named = wanted.repository.startswith(_NAMES)  # by a Secret, which is the owner's
    if is_named or not leads_inside(access.url.origin.host, user.url.origin.host):
        return
    raise RenderError(
        Reason.NOT_PERMITTED,
        f"the dependency {_shown(wanted)} is at an address of the agent's machine, of its link or "
        "of a cloud's metadata; name the host of the charts, or vendor the chart in charts/",
    )


def _record(
    wanted: ChartDependency, access: RepositoryAccess, revision: Revision
) -> DependencyRecord:
    signers = digest_of(msgspec.json.encode(access.signers)) if access.signers else NO_DIGEST
    return DependencyRecord(wanted, access.key, access.project, revision, signers)


def _source_at(url: str, chart: str) -> Source:
    """Raises AddressError and RepositoryUrlError where it is no place of charts."""
    parts = split_address(url)
    if parts.scheme.lower() not in _SCHEMES or parts.user:
        raise AddressError("expected https://, oci:// or file:// and no login in it")
    registry = url[len(_OCI) :] if url.lower().startswith(_OCI) else url
    source = Source(repo_url=registry, chart=chart)
    SourceAddress.of(source)
    return source


def _shown(wanted: ChartDependency) -> str:
    where = without_user_info(wanted.repository)[:200]
    return f"{wanted.name[:100]!r} {wanted.version[:100]} of {where!r}"


def _late(wanted: ChartDependency, seconds: float) -> RenderError:
    return RenderError(
        Reason.REPOSITORY_UNREACHABLE,
        f"the dependency {_shown(wanted)}: the charts of this render were not read within "
        f"{seconds:g} s; what is here by now is kept, and the rest is tried again. Look at the "
        "server, or vendor the charts in charts/",
    )


def _unreadable(wanted: ChartDependency, error: RepositoryError) -> RenderError:
    return RenderError(error.reason, f"the dependency {_shown(wanted)}: {error.message}")
