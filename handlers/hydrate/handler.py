"""The handler of HydrateBranch: commits the manifests of a dry commit to their branch.

All Applications of a branch are rendered from one dry commit and written by one commit, or none is.
What the branch holds already is not committed again, so an attempt that was killed after its push
finds its work done, and writes the status. It returns RefreshRepository for the branch, whose
deployment goes the way of any push, and RefreshApp for each Application whose status changed.

An attempt that failed is made again after a growing time, at the next dry commit, and at the next
change of anything that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bus.events import Event, HydrateBranch, RefreshApp, RefreshRepository
from bus.identity import NO_REVISION, AppKey, HydratedBranch, Revision
from bus.route import Retry
from handlers.application import times
from handlers.application.application import HYDRATE_ANNOTATION, Application, AppProject
from handlers.application.hydration_status import (
    FAILED,
    HYDRATED,
    Hydration,
    has_written,
    is_hydrated,
    next_try,
    with_hydration,
)
from handlers.application.hydrator_settings import HydratorSettings
from handlers.application.source_integrity import integrity_problems
from handlers.application.spec import Source
from handlers.control_plane.governance import GOVERNED
from handlers.hydrate.branch_render import BranchError, BranchRender, BranchRenderer
from handlers.hydrate.members import claimed_folders, members_of
from handlers.ports import (
    Apps,
    Clock,
    ClusterUnreachableError,
    RendererBusyError,
    RepositoryAccess,
    RepositoryError,
    Sources,
    StatusWrite,
)
from handlers.ports.branches import Branches

HYDRATE_SECONDS = 600.0
_AWAY = 5.0
_NOT_ENABLED = (
    "nothing is hydrated, because hydrator.enabled of the ConfigMap argocd-cmd-params-cm is not "
    '"true": set it, or deploy a spec.source'
)


_GOVERNED = (
    "not hydrated, because the Application, its AppProject or what deploys it came or was changed "
    "over the link, and the control plane does not have the agent write to Git: apply it with "
    f"kubectl or from Git, without the annotation {GOVERNED}"
)


_ITS_OWN = (
    "the dry commit {} was written for it: it reads the branch that it writes, and each commit "
    "would be a reason for the next; name another branch in drySource.targetRevision, "
    "syncSource.targetBranch or hydrateTo.targetBranch"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrateHandler:
    apps: Apps
    sources: Sources
    render: BranchRenderer
    branches: Branches
    clock: Clock
    is_governed: Callable[[Application], bool]
    """Whether the Application came or was changed over the link."""
    settings: Callable[[], HydratorSettings] = HydratorSettings
    asks_of_push: Callable[[tuple[RefreshRepository, ...]], tuple[RefreshRepository, ...]] = tuple
    """Directs the ask for a branch that was written to each replica that deploys from it."""

    async def __call__(self, ask: HydrateBranch) -> Sequence[Event]:
        project = self.apps.project(ask.branch.project)
        members = members_of(self.apps.all(), ask.branch, project)
        governed = [app for app in members if self.is_governed(app)]
        looks = await self._write(governed, dict.fromkeys(_keys(governed), _failed(_GOVERNED)))
        members = [app for app in members if app not in governed]
        if not members or project is None:
            return looks
        if not self.settings().enabled:
            results = dict.fromkeys(_keys(members), _failed(_NOT_ENABLED))
            return (*looks, *await self._write(members, results))
        try:
            return (*looks, *await self._hydrate(ask, members, project))
        except Retry as later:
            found = (*looks, *later.emit)
            raise Retry(later.reason, after=later.after, emit=found) from later

    async def _hydrate(
        self, ask: HydrateBranch, members: Sequence[Application], project: AppProject
    ) -> Sequence[Event]:
        revision = NO_REVISION
        try:
            self._check(members, project)
            access = self.sources.access(_dry_source(members[0]), ask.branch.project)
            revision = await self._newest(access, ask)
            if all(is_hydrated(app, revision) for app in members):
                return ()
            _check_read(members, revision)
            made = await self.render(members, project, access, revision)
            return await self._commit(ask.branch, members, made, revision)
        except BranchError as error:
            results = {app.key: _failed(error.of(app.key), revision) for app in members}
        except RepositoryError as error:
            results = dict.fromkeys(_keys(members), _failed(error.message, revision))
        except RendererBusyError as error:
            raise Retry(error.message, after=error.after) from error
        return await self._fail(members, results)

    def _check(self, members: Sequence[Application], project: AppProject) -> None:
        """Raise BranchError where the Applications cannot be hydrated whatever Git holds."""
        if found := [*integrity_problems(project, (_dry_source(members[0]),))]:
            raise BranchError(dict.fromkeys(_keys(members), "; ".join(found)))
        if claimed := claimed_folders(members, self.apps.all(), self.apps.project):
            raise BranchError(claimed)

    async def _newest(self, access: RepositoryAccess, ask: HydrateBranch) -> Revision:
        """Resolve the dry commit; fetch first unless the mirror has what the asker has seen."""
        if ask.revision:
            found = await self.sources.resolve(access, ask.branch.dry_revision)
            if found == ask.revision:
                return found
        await self.sources.fetch(access)
        return await self.sources.resolve(access, ask.branch.dry_revision)

    async def _commit(
        self,
        branch: HydratedBranch,
        members: Sequence[Application],
        made: BranchRender,
        revision: Revision,
    ) -> Sequence[Event]:
        change = made.change(self.settings())
        head = await self.branches.change(branch, change)
        results = {
            app.key: Hydration(
                phase=HYDRATED,
                message=made.remarks.get(app.key, ""),
                dry=revision,
                hydrated=head.commit,
            )
            for app in members
        }
        looks = await self._write(members, results)
        written = (RefreshRepository(repository=branch.repository),)
        return (*looks, *self.asks_of_push(written))

    async def _fail(
        self, members: Sequence[Application], results: Mapping[AppKey, Hydration]
    ) -> Sequence[Event]:
        looks = await self._write(members, results)
        now = self.clock.now()
        found = [app for one in members if (app := self.apps.get(one.key)) is not None]
        after = min((next_try(app.status, now) for app in found), default=_AWAY)
        raise Retry(results[members[0].key].message, after=after, emit=looks)

    async def _write(
        self, members: Sequence[Application], results: Mapping[AppKey, Hydration]
    ) -> tuple[RefreshApp, ...]:
        """Write what came of the attempt; ask for each Application that shows something new."""
        now, changed = times.written(self.clock.now()), list[AppKey]()
        for one in members:
            app = self.apps.get(one.key)
            if app is None or app.spec.source_hydrator != one.spec.source_hydrator:
                continue  # another spec asks for its own attempt
            status = with_hydration(app, results[app.key], now)
            write = StatusWrite(status=status, remove_annotations=(HYDRATE_ANNOTATION,))
            if status != app.status:
                changed.append(app.key)
            try:
                await self.apps.write(app, write)
            except ClusterUnreachableError as error:
                raise Retry(f"status not written: {error}", after=_AWAY) from error
        return tuple(RefreshApp(app=key) for key in changed)


def _check_read(members: Sequence[Application], revision: Revision) -> None:
    """Raise BranchError where a dry commit is one that was written before."""
    if own := [app.key for app in members if has_written(app, revision)]:
        raise BranchError(dict.fromkeys(own, _ITS_OWN.format(revision)))


def _failed(message: str, revision: Revision = NO_REVISION) -> Hydration:
    return Hydration(phase=FAILED, message=message, dry=revision)


def _keys(members: Sequence[Application]) -> list[AppKey]:
    return [app.key for app in members]


def _dry_source(app: Application) -> Source:
    hydrator = app.spec.source_hydrator
    return hydrator.dry_source if hydrator and hydrator.dry_source else Source(repo_url="")
