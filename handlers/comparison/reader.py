"""ComparisonReader: reads the desired and live objects of an Application and compares them.

The steady comparison costs the API server nothing. The server is asked, by a dry-run apply, only
about single objects that look different, and its answers are kept for as long as both sides stay
as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from bus.identity import ResourceKey
from bus.status import OperationPhase
from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.denials import denials
from handlers.application.deployed_cluster import replacement
from handlers.application.desired_source import as_desired, pinned_source
from handlers.application.ignore_rules import IgnoreRules, ObjectRules, ignore_rules
from handlers.application.impersonation import unused_accounts
from handlers.application.namespace_marks import left_out_marks
from handlers.application.policy import namespace_differs, sync_options_of_app
from handlers.application.revisions import Revisions
from handlers.comparison.application_writer import application_writer
from handlers.comparison.comparison import Comparison, ComparisonInput, joined
from handlers.comparison.comparison_memory import ComparisonMemory
from handlers.comparison.decryption import decrypted_artifact
from handlers.comparison.desired_objects import DesiredObjects, without_excluded
from handlers.comparison.dry_run_questions import compared, questions
from handlers.comparison.dry_runs import DryRuns
from handlers.comparison.ignored_fields_reader import (
    IgnoredFieldsReader,
    IgnoreRuleError,
    ruled_pairs,
)
from handlers.comparison.orphan_search import OrphanSearch
from handlers.control_plane.governance import Governance
from handlers.manifest.exclusions import exclusion
from handlers.manifest.tracking import app_identity
from handlers.ports import (
    Apps,
    Artifacts,
    Clusters,
    ClusterWriter,
    DestinationSession,
    JqPaths,
    Renders,
)
from handlers.ports.decryption import Decryption, NoDecryption
from handlers.ports.render_record import RenderRecord
from handlers.ports.rendering import RenderError


@dataclass(slots=True, kw_only=True)
class ComparisonReader:
    """Shared by compare, decide, step and the preview of the bridge, with one memory of answers."""

    apps: Apps
    renders: Renders
    artifacts: Artifacts
    clusters: Clusters
    governance: Governance
    control_namespace: str
    jq: JqPaths
    decryption: Decryption = field(default_factory=NoDecryption)
    settings: Callable[[], ArgoSettings] = ArgoSettings
    _ignored_fields: IgnoredFieldsReader = field(init=False)
    _dry_runs: DryRuns = field(init=False)
    _memory: ComparisonMemory = field(default_factory=ComparisonMemory, init=False)

    def __post_init__(self) -> None:
        self._ignored_fields = IgnoredFieldsReader(jq=self.jq)
        self._dry_runs = DryRuns(ignored_fields=self._ignored_fields)

    async def read(self, app: Application) -> Comparison | None:
        """Compare with the last render; None where the desired state must be rendered first.

        Also where an ignore rule cannot be understood, or an object cannot be decrypted: the render
        handler says so. Raises
        UnavailableError and DestinationUnknownError.
        """
        record = self.renders.recall(app.key)
        if record is None or record.pinned_source != pinned_source(app):
            return None
        if not _is_of(record, as_desired(app)):
            return None
        content = await self.artifacts.get(record.digest)
        if content is None:
            return None
        try:
            return await self.compare(app, record, content)
        except (IgnoreRuleError, RenderError):
            return None

    async def compare(self, app: Application, record: RenderRecord, content: bytes) -> Comparison:
        """Compare the live objects with these manifests, which need not be the last render.

        Raises UnavailableError, DestinationUnknownError, IgnoreRuleError, RenderError.
        """
        content = await decrypted_artifact(self.decryption, app, record, content)
        session = self.clusters.of(app.spec.destination)
        found = self._inputs(app, record, content, session)
        writer = self.writer(app)
        inputs, failed = await self._ignoring(app, found, writer)
        summary = compared(inputs, self._dry_runs.answers, self._memory.states(app.key))
        asked = questions(summary, inputs, deployed=_is_deployed(app, inputs))
        open_ = {key: one for key, one in asked.items() if one not in self._dry_runs.answers}
        if open_:
            try:
                await self._dry_runs.ask(open_, inputs, writer, project=app.spec.project)
                summary = compared(inputs, self._dry_runs.answers, self._memory.states(app.key))
            finally:
                self._dry_runs.forget_forbidden()
        comparison = joined(summary, inputs)
        problems = (*self._rules(app).problems, *failed)
        settings = self.settings()
        project = self.apps.project(app.spec.project)
        held = (
            *settings.harmful,
            *unused_accounts(project, settings.impersonation),
            *left_out_marks(app, settings.tracking),
        )
        return replace(
            comparison,
            held_by_settings=held,
            rule_problems=problems,
            namespace_differs=namespace_differs(app),
            orphaned=self._orphans().find(app, session, inputs.desired.keys),
            persists_health=settings.persists_health,
        )

    def writer(self, app: Application) -> ClusterWriter:
        """Return the writer of the Application; raises the errors of `Clusters.of`."""
        session = self.clusters.of(app.spec.destination)
        return application_writer(app, session, self.apps, self.settings())

    async def check_rules(self, app: Application) -> None:
        """Raise IgnoreRuleError for an ignore rule that does not compile; JqBusyError."""
        if rules := self._rules(app):
            await self._ignored_fields.check(rules, project=app.spec.project)

    def _rules(self, app: Application) -> IgnoreRules:
        return ignore_rules(app.spec.ignore_differences, self.settings().ignore_rules)

    async def _ignoring(
        self, app: Application, inputs: ComparisonInput, writer: ClusterWriter
    ) -> tuple[ComparisonInput, tuple[str, ...]]:
        """Find the ignored fields of all pairs, and the rules that failed on one of them."""
        await self.check_rules(app)
        if not inputs.rules:
            return inputs, ()
        pairs, lives = ruled_pairs(inputs.rules, inputs.desired, inputs.lives), inputs.lives
        found = await self._ignored_fields.read(pairs, project=app.spec.project)
        inputs = replace(inputs, ignored=found.fields)
        trusting = {one.key: one for one in pairs if one.rules.managers}
        differing = compared(inputs, self._dry_runs.answers).differing if trusting else ()
        looked = [(trusting[key], lives[key]) for key in differing if key in trusting]
        managed = await self._ignored_fields.with_managed(looked, found, writer)
        return replace(inputs, ignored=managed.fields), managed.problems

    def _inputs(
        self, app: Application, record: RenderRecord, content: bytes, session: DestinationSession
    ) -> ComparisonInput:
        """Read both sides, without what the settings exclude and the owner's policy denies.

        A live object that the policy denies is left out: it must not even be seen as extra.
        """
        live, cluster = session.live, session.cluster
        is_excluded = exclusion(self.settings().resources, cluster.server)
        desired, excluded = without_excluded(self._memory.desired(app.key, content), is_excluded)
        lives = {one.key: one for one in live.tracked(app.key) if not is_excluded(one.key)}
        here = ((key, live.get(key)) for key in desired.keys)
        lives |= {key: one for key, one in here if one is not None}
        keys = desired.keys | lives.keys()
        held = self.governance.denials(app, keys)
        lives = {key: one for key, one in lives.items() if key not in held}
        project = self.apps.project(app.spec.project)
        rules = _concerned(self._rules(app), desired)
        other = replacement(app, cluster.server, session.cluster_uid)
        gaps = {key: other or live.coverage_gap(key) for key in lives.keys() - desired.keys}
        return ComparisonInput(
            record=record,
            desired=desired,
            lives=lives,
            identity=app_identity(app.key, self.control_namespace),
            denied={**denials(app, project, keys, session.registered), **held},
            cluster=cluster,
            excluded=excluded,
            known_types=self.settings().known_types,
            takes_over=sync_options_of_app(app).takes_over,
            rules=rules,
            unseen={key: why for key, why in gaps.items() if why},
        )

    def _orphans(self) -> OrphanSearch:
        return OrphanSearch(
            apps=self.apps, control_namespace=self.control_namespace, settings=self.settings
        )


def _concerned(rules: IgnoreRules, desired: DesiredObjects) -> Mapping[ResourceKey, ObjectRules]:
    """The ignore rules by desired object, of those that have any."""
    found = ((key, rules.of(key)) for key in desired.objects) if rules else ()
    return {key: one for key, one in found if one is not None}


def _is_deployed(app: Application, inputs: ComparisonInput) -> bool:
    state = app.status.operation_state
    if state is None or state.sync_result is None or state.phase != OperationPhase.SUCCEEDED:
        return False
    return Revisions.of(state.sync_result) == inputs.record.revisions


def _is_of(record: RenderRecord, app: Application) -> bool:
    """Whether the render is of as many sources, of the same field of the spec."""
    several = bool(app.spec.sources)
    return record.several == several and (not several or len(record.sources) == len(app.sources))
