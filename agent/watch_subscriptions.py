"""WatchSubscriptions turn the changes that the watches see into asks, while the agent acts.

Opening them asks for every Application as if it were new: changes that were missed before are found
by a refresh, not by remembering.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agent.ingress.pending_asks import PendingAsks
from agent.ingress.watch_asks import (
    asks_for_app,
    asks_for_change,
    asks_for_project,
    deletion_fact,
    is_released,
    is_sharing,
)
from agent.kube.index import LiveIndex
from agent.kube.live_change import LiveChange
from agent.observe.metrics import AgentMetrics
from agent.store.applications import Applications
from agent.store.config_maps import ArgoSettingsWatch, PolicyWatch
from bus.events import CompareApp, RefreshApp
from bus.identity import AppKey
from handlers.application.application import Application, AppProject
from handlers.application.ignore_rules import ignore_rules
from handlers.control_plane.governance import Governance
from handlers.fact_journal import journal_entry
from handlers.manifest.tracking import app_identity


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSubscriptions:
    applications: Applications
    index: LiveIndex
    pending: PendingAsks
    policy: PolicyWatch
    settings: ArgoSettingsWatch
    governance: Governance
    control_namespace: str
    metrics: AgentMetrics

    @contextmanager
    def open(self) -> Iterator[None]:
        apps = self.applications
        with (
            apps.unconfirmed.stored.subscribed(self._stored),
            apps.changes.subscribed(self._app_changed),
            apps.project_changes.subscribed(self._project_changed),
            self.policy.changes.subscribed(self._policy_changed),
            self.settings.changes.subscribed(self._settings_changed),
            self.index.changes_of_others.subscribed(self._live_changed),
        ):
            for app in apps.all():
                self._app_changed(None, app)
            yield

    def _app_changed(self, before: Application | None, after: Application | None) -> None:
        self.pending.put(*asks_for_app(before, after), *deletion_fact(before, after))

    def _project_changed(self, before: AppProject | None, after: AppProject | None) -> None:
        changed = after or before
        is_global = changed is not None and self.applications.is_global_project(
            changed.metadata.name
        )
        apps = self.applications.all()
        self.pending.put(*asks_for_project(before, after, apps, is_global=is_global))

    def _policy_changed(self) -> None:
        """Refresh the governed Applications: another policy permits other syncs."""
        held = filter(self.governance.governs, self.applications.all())
        self.pending.put(*(RefreshApp(app=app.key) for app in held if not app.deleting))

    def _settings_changed(self) -> None:
        """Refresh all Applications: other settings exclude other kinds or hold other syncs."""
        apps = self.applications.all()
        self.pending.put(*(RefreshApp(app=app.key) for app in apps if not app.deleting))

    def _stored(self, app: Application) -> None:
        """Publish the facts of a stored write whose answer was lost: no handler will."""
        entry = journal_entry(app)
        self.pending.put(*(entry.facts if entry else ()))

    def _live_changed(self, change: LiveChange) -> None:
        self._count(change)
        settings = self.settings.now
        ignored = ignore_rules((), (*settings.ignore_rules, *settings.update_rules))
        self.pending.put(*asks_for_change(change, self._app_of, self._is_deleting, ignored))
        if is_released(change):
            # The object may belong to another application now that has it in Git too.
            sharing = filter(is_sharing, self.applications.all())
            self.pending.put(*(CompareApp(app=app.key) for app in sharing))

    def _count(self, change: LiveChange) -> None:
        found = change.after or change.before
        if found is not None:
            self.metrics.cluster_events.labels(found.key.group, found.key.kind).inc()

    def _app_of(self, identity: str) -> AppKey | None:
        """Read `name`, or `namespace_name` of an Application outside the control namespace."""
        namespace, underscore, name = identity.partition("_")
        key = AppKey(namespace, name) if underscore else AppKey(self.control_namespace, identity)
        known = self.applications.get(key) is not None
        return key if known and app_identity(key, self.control_namespace) == identity else None

    def _is_deleting(self, key: AppKey) -> bool:
        app = self.applications.get(key)
        return app is not None and app.deleting
