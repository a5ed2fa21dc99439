"""StageRunner: runs the hooks of one stage of a deletion, and lets them go at its end.

A hook that fails stays for half a minute, so that its log can be read. Then it is deleted and
created again, as in Argo CD without end, from what Git says by then. The finalizer of the
Application goes before the hooks are let go: a hook that vanishes then is not created once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from bus.events import RefreshApp
from bus.identity import ResourceKey
from bus.route import Retry
from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.deletion_stage import DeletionStage
from handlers.application.denials import denials
from handlers.application.status import blocking
from handlers.comparison.application_writer import application_writer
from handlers.comparison.decryption import decrypted_artifact
from handlers.comparison.dry_runs import gathered
from handlers.comparison.normalised_objects import sent
from handlers.control_plane.governance import Governance, named
from handlers.delete.deletion_conditions import DeletionConditions, without_errors
from handlers.delete.deletion_hooks import (
    hooks_of_stage,
    stage_cleanup,
    stage_progress,
)
from handlers.manifest import access
from handlers.manifest.exclusions import exclusion
from handlers.manifest.hooks import is_held
from handlers.manifest.manifest_assembly import objects_of
from handlers.manifest.tracking import app_identity
from handlers.ports import (
    ApplyOptions,
    ApplyRefusedError,
    Apps,
    Artifacts,
    Clusters,
    ClusterUnreachableError,
    ClusterWriter,
    DestinationSession,
    LiveObject,
    Manifest,
    Renders,
    StatusWrite,
)
from handlers.ports.decryption import Decryption, NoDecryption
from handlers.ports.render_record import RenderRecord
from handlers.ports.rendering import RenderError
from handlers.sync.hook_cleaner import HookCleaner
from handlers.sync.operation_results import in_words
from handlers.sync.sync_work import options_of

_AGAIN = 30.0
"""Seconds between two tries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRunner:
    apps: Apps
    clusters: Clusters
    renders: Renders
    artifacts: Artifacts
    governance: Governance
    conditions: DeletionConditions
    is_proven: Callable[[Application, RenderRecord], bool]
    """Whether the sources of a render are proven as it is demanded now."""
    decryption: Decryption = field(default_factory=NoDecryption)
    settings: Callable[[], ArgoSettings] = ArgoSettings

    async def run(self, app: Application, stage: DeletionStage) -> Application | None:
        """Return the Application without the stage's finalizer; None while hooks run.

        Raises ClusterUnreachableError, StaleWriteError, and Retry where a hook cannot be run.
        """
        if stage.finalizer not in app.metadata.finalizers:
            return app
        hooks = await self._hooks(app, stage)
        live = self._session(app).live
        identity = app_identity(app.key, self.governance.control_namespace)
        progress = stage_progress(hooks, live.get, identity)
        if progress.foreign:
            raise await self._stopped(app, _taken(stage, progress.foreign))
        if progress.missing:
            await self._create(app, stage, progress.missing)
            progress = stage_progress(hooks, live.get, identity)
        if progress.missing or progress.running:
            return None
        if progress.failed:
            await self._try_again(app, stage, progress.failed)
            return None
        if stage.cleanup not in app.metadata.finalizers:
            await self._clean(app, stage)
        done = StatusWrite(
            status=without_errors(app), remove_finalizers=(stage.finalizer,), guarded=True
        )
        return await self.apps.write(app, done)

    async def clean(self, app: Application, stage: DeletionStage) -> None:
        """Let the hooks of the stage go, and delete them as their policies say."""
        if stage.cleanup in app.metadata.finalizers:
            await self._clean(app, stage)

    async def _clean(self, app: Application, stage: DeletionStage) -> None:
        session = self._session(app)
        is_excluded = exclusion(self.settings().resources, session.cluster.server)
        lives = [one for one in session.live.tracked(app.key) if not is_excluded(one.key)]
        denied = self._denied(app, session, (one.key for one in lives))
        found = stage_cleanup(stage, lives, denied)
        await self._remove(app, found.release, found.delete)
        if found.denied:
            held = named({one.key: denied[one.key] for one in found.denied})
            ours = stage.cleanup if stage.cleanup in app.metadata.finalizers else stage.finalizer
            text = f"{held}; permit them, delete them, or remove the finalizer {ours} to leave them"
            raise await self._stopped(app, text)

    def _denied(
        self, app: Application, session: DestinationSession, keys: Iterable[ResourceKey]
    ) -> dict[ResourceKey, str]:
        """What it may neither create nor remove, by project and policy; names come again."""
        asked = tuple(keys)
        project = self.apps.project(app.spec.project)
        by_project = denials(app, project, asked, session.registered)
        return {**by_project, **self.governance.denials(app, asked)}

    async def _hooks(self, app: Application, stage: DeletionStage) -> tuple[Manifest, ...]:
        record = self.renders.recall(app.key)
        content = await self.artifacts.get(record.digest) if record is not None else None
        if record is None or content is None or not self.is_proven(app, record):
            raise await self._not_rendered(app, stage)
        try:
            content = await decrypted_artifact(self.decryption, app, record, content)
        except RenderError as error:
            raise await self._stopped(app, error.message) from error
        session = self._session(app)
        is_excluded = exclusion(self.settings().resources, session.cluster.server)
        written = (one for one in objects_of(content) if not is_excluded(access.key(one)))
        hooks = hooks_of_stage(app, stage, written, record.revision)
        if denied := self._denied(app, session, map(access.key, hooks)):
            raise await self._stopped(app, f"{named(denied)}; permit them, or {_without(stage)}")
        return hooks

    async def _create(
        self, app: Application, stage: DeletionStage, hooks: Sequence[Manifest]
    ) -> None:
        for error in await gathered(self._apply(app, one) for one in hooks):
            if isinstance(error, ClusterUnreachableError):
                raise error
            if error is not None:
                text = f"a {stage.phase} hook was refused: {error.message}; mend it in Git, or "
                raise await self._stopped(app, text + _without(stage))

    async def _apply(
        self, app: Application, hook: Manifest
    ) -> ApplyRefusedError | ClusterUnreachableError | None:
        """Return the error, so that the other hooks are created all the same."""
        try:
            manifest = self.governance.sent(app, access.key(hook), sent(hook))
            await self._writer(app).apply(manifest, ApplyOptions())
        except (ApplyRefusedError, ClusterUnreachableError) as error:
            return error
        return None

    async def _try_again(
        self, app: Application, stage: DeletionStage, failed: Sequence[LiveObject]
    ) -> None:
        first = failed[0]
        message = (
            f"{stage.phase} hook {first.key.kind} {first.key.name} failed: "
            f"{first.health_message or 'it is degraded'}; it is created anew every "
            f"{_AGAIN:.0f} seconds: mend it in Git, or {_without(stage)}"
        )
        age = self.conditions.age(app, message)
        if age is None:
            raise await self._stopped(app, message)
        if age < _AGAIN:
            raise Retry(message, after=_AGAIN - age)
        await self._remove(app, [one for one in failed if is_held(one.manifest)], failed)
        await self.conditions.clear(app)

    async def _remove(
        self, app: Application, release: Sequence[LiveObject], delete: Sequence[LiveObject]
    ) -> None:
        propagation = options_of(app).prune_propagation.value
        refused = await HookCleaner(writer=self._writer(app)).clean(release, delete, propagation)
        if refused is not None:
            raise await self._stopped(app, f"a hook was not deleted: {refused.message}")

    def _writer(self, app: Application) -> ClusterWriter:
        return application_writer(app, self._session(app), self.apps, self.settings())

    def _session(self, app: Application) -> DestinationSession:
        return self.clusters.of(app.spec.destination)

    async def _not_rendered(self, app: Application, stage: DeletionStage) -> Retry:
        why = "; ".join(one.message for one in blocking(app.status.conditions))
        text = f"the manifests with the {stage.phase} hooks are not known: {why or 'not rendered'}"
        return await self._stopped(app, f"{text}; mend it in Git, or {_without(stage)}")

    async def _stopped(self, app: Application, message: str) -> Retry:
        """Say why the deletion stops here, and look at Git again before it is tried again."""
        await self.conditions.write(app, message)
        refresh = RefreshApp(app=app.key, hard=True)
        return Retry(message, after=_AGAIN, emit=(refresh,))


def _taken(stage: DeletionStage, foreign: Sequence[LiveObject]) -> str:
    first = foreign[0]
    whose = f"it is tracked as {first.tracking!r}" if first.tracking else "nothing tracks it"
    return (
        f"{in_words(one.key for one in foreign)} in namespace {first.key.namespace!r} has the name"
        f" of a {stage.phase} hook and is not of this application ({whose}): give the hook another"
        f" name in Git, delete the object, or {_without(stage)}"
    )


def _without(stage: DeletionStage) -> str:
    return f"remove the finalizer {stage.finalizer} to delete the application without these hooks"
