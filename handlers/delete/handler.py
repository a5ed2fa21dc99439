"""The handler of DeleteApp: deletes what an Application deployed, then removes its finalizers.

PreDelete hooks run first, then the objects go, the highest wave first (`cascade`), then PostDelete
hooks run (`stage_runner`). The objects of a wave are deleted at once, and the next wave follows
when they are gone. Nothing at all is done while an object with `Delete=confirm` waits for a
person's approval, or while a kind of what was deployed cannot be seen (`deployed_objects`). Waiting
is returning: the watches ask again when an object has vanished, a hook has ended or the approval is
there. AppDeleted is published when everything is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bus.events import AppDeleted, DeleteApp, Event
from bus.identity import ResourceKey
from bus.route import Retry
from bus.status import ConditionType
from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.deletion_approval import remedy
from handlers.application.deletion_stage import POST_DELETE, PRE_DELETE, STAGES, hook_finalizers_of
from handlers.application.denials import denials
from handlers.application.deployed_cluster import replacement
from handlers.comparison.application_writer import application_writer
from handlers.comparison.dry_runs import gathered
from handlers.control_plane.governance import Governance, named
from handlers.delete.cascade import Cascade, cascade, finalizers_of, unconfirmed
from handlers.delete.deletion_conditions import DeletionConditions
from handlers.delete.deployed_objects import GAP, gap_message
from handlers.delete.stage_runner import StageRunner
from handlers.manifest.exclusions import exclusion
from handlers.manifest.hooks import HOOK_FINALIZER
from handlers.ports import (
    ApplyRefusedError,
    Apps,
    Clusters,
    ClusterUnreachableError,
    ClusterWriter,
    DestinationSession,
    DestinationUnavailableError,
    DestinationUnknownError,
    LiveObject,
    Renders,
    StaleWriteError,
    StatusWrite,
)
from handlers.sync.operation_results import in_words
from handlers.sync.sync_work import options_of

_AWAY = 5.0
_REFUSED = 30.0
DELETION_WAITS = "waiting for deletion confirmation of"
_AGAIN = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteHandler:
    apps: Apps
    clusters: Clusters
    renders: Renders
    governance: Governance
    stages: StageRunner
    conditions: DeletionConditions
    settings: Callable[[], ArgoSettings] = ArgoSettings

    async def __call__(self, ask: DeleteApp) -> Sequence[Event]:
        app = self.apps.get(ask.app)
        if app is None or not app.deleting or app.is_skipped:
            return ()
        try:
            return await self._go_on(app)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error
        except StaleWriteError as error:
            raise Retry(str(error), after=_AGAIN) from error

    async def _go_on(self, app: Application) -> Sequence[Event]:
        try:
            return await self._proceed(app)
        except DestinationUnknownError as error:
            return await self._leave(app, error)
        except DestinationUnavailableError as error:
            if not error.pending:
                await self.conditions.write(app, error.message)
            return ()  # asked again when the cluster answers

    async def _proceed(self, app: Application) -> Sequence[Event]:
        if not (finalizers_of(app) or hook_finalizers_of(app)):
            return await self._finish(app)
        session = self.clusters.of(app.spec.destination)
        await self._require_coverage(app, session)
        if not await self._is_confirmed(app, session):
            return ()
        ready = await self.stages.run(app, PRE_DELETE)
        if ready is None:
            return ()
        while (going := self._next(ready, session)).wave:
            if not await self._delete_wave(ready, going, session):
                return ()
        await self._retain_denied(ready, session)
        ready = await self.stages.run(ready, POST_DELETE)
        if ready is None:
            return ()
        for stage in STAGES:
            await self.stages.clean(ready, stage)
        return await self._finish(ready)

    async def _leave(self, app: Application, error: DestinationUnknownError) -> Sequence[Event]:
        """Finish where the cluster is gone, as Argo CD does: nothing can be deleted in it.

        A destination that is merely unclear keeps the finalizer until a person corrects it.
        """
        if error.gone:
            return await self._finish(app, pruned=0)
        await self.conditions.write(app, error.message)
        return ()

    async def _require_coverage(self, app: Application, session: DestinationSession) -> None:
        """Wait while objects may be there that cannot be seen, and say in the status why."""
        finalizers = finalizers_of(app)
        server = session.cluster.server
        is_excluded = exclusion(self.settings().resources, server)
        other = replacement(app, server, session.cluster_uid)

        def gap(key: ResourceKey) -> str:
            return "" if is_excluded(key) else other or session.live.coverage_gap(key)

        text = gap_message(app, gap, finalizers[0]) if finalizers else ""
        if text:
            await self.conditions.write(app, text)
            raise Retry(text, after=_AWAY)
        await self.conditions.clear_begun_with(app, GAP)

    async def _is_confirmed(self, app: Application, session: DestinationSession) -> bool:
        """Say whether the deletion may go on; where it waits, say in the status for what."""
        waiting = unconfirmed(app, self._permitted(app, session), options_of(app))
        message = f"{DELETION_WAITS} {in_words(waiting)}; {remedy(app)}" if waiting else ""
        await self.conditions.write(app, message, ConditionType.DELETION_CONFIRMATION_WARNING)
        return not waiting

    def _next(self, app: Application, session: DestinationSession) -> Cascade:
        return cascade(app, self._permitted(app, session), options_of(app))

    def _permitted(self, app: Application, session: DestinationSession) -> tuple[LiveObject, ...]:
        lives = self._lives(app, session)
        held = self._denied(app, lives, session)
        return tuple(one for one in lives if one.key not in held)

    def _denied(
        self, app: Application, lives: Iterable[LiveObject], session: DestinationSession
    ) -> dict[ResourceKey, str]:
        """The objects it may not remove: by its project as it is now, and by the owner's policy.

        The tracking annotation of an object holds a name, and names come again: without this check
        an Application could delete what another project deployed under the same name before.
        """
        keys = tuple(one.key for one in lives)
        project = self.apps.project(app.spec.project)
        by_project = denials(app, project, keys, session.registered)
        return {**by_project, **self.governance.denials(app, keys)}

    def _lives(self, app: Application, session: DestinationSession) -> tuple[LiveObject, ...]:
        """The objects of the Application, without those of excluded kinds, which are left alone."""
        is_excluded = exclusion(self.settings().resources, session.cluster.server)
        found = session.live.tracked(app.key) if finalizers_of(app) else ()
        return tuple(one for one in found if not is_excluded(one.key))

    async def _retain_denied(self, app: Application, session: DestinationSession) -> None:
        """Keep the finalizer while denied objects remain: a person decides what becomes of them."""
        lives = self._lives(app, session)
        whole = cascade(app, lives, options_of(app))
        if whole.wave:
            held = named(self._denied(app, whole.wave, session))
            text = (
                f"{held}; permit them, delete them, or remove the finalizer"
                f" {finalizers_of(app)[0]} to leave them as they are"
            )
            await self.conditions.write(app, text)
            raise Retry(text, after=_REFUSED)

    async def _delete_wave(
        self, app: Application, going: Cascade, session: DestinationSession
    ) -> bool:
        """Delete a wave; say whether it is gone already, so that the next may follow at once."""
        staying = [one for one in going.wave if not one.deleting or _is_held(one)]
        writer = application_writer(app, session, self.apps, self.settings())
        errors = await gathered(_delete(one, going.propagation, writer) for one in staying)
        for error in errors:
            if isinstance(error, ClusterUnreachableError):
                raise error
            if error is not None:
                await self.conditions.write(app, error.message)
                raise Retry(str(error), after=_REFUSED)
        return all(session.live.get(one.key) is None for one in going.wave)

    async def _finish(self, app: Application, pruned: int | None = None) -> Sequence[Event]:
        ours = (*finalizers_of(app), *hook_finalizers_of(app))
        await self.renders.forget(app.key)
        if not ours:
            return ()
        await self.apps.write(app, StatusWrite(status=app.status, remove_finalizers=ours))
        known = app.status.resources_total or len(app.status.resources)
        gone = known if pruned is None else pruned
        return (AppDeleted(app=app.key, project=app.spec.project, pruned=gone),)


async def _delete(
    live: LiveObject, propagation: str, writer: ClusterWriter
) -> ApplyRefusedError | ClusterUnreachableError | None:
    """Return the error. A hook of a sync is let go: nobody waits for its end any more."""
    try:
        await writer.delete(live, propagation=propagation)
        if _is_held(live):
            await writer.remove_finalizer(live, HOOK_FINALIZER)
    except (ApplyRefusedError, ClusterUnreachableError) as error:
        return error
    return None


def _is_held(live: LiveObject) -> bool:
    """Whether the finalizer of hooks keeps the object; its name occurs nowhere else."""
    return HOOK_FINALIZER.encode() in live.body
