"""Hearing: while we act, what the watches see becomes asks.

Opening it asks for every Application as if it were new: whatever happened while nobody listened is
found by looking, not by remembering.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agent.ingress.apps import asks_for as asks_for_app
from agent.ingress.apps import asks_for_project, goodbye
from agent.ingress.live import asks_for as asks_for_change
from agent.ingress.pending import PendingAsks
from agent.kube.index import LiveChange, LiveIndex
from agent.observe.metrics import Metrics
from agent.store.applications import Applications
from agent.store.argo_settings import ArgoSettingsWatch
from agent.store.policy import PolicyWatch
from bus.events import RefreshApp
from bus.identity import AppKey
from handlers.application.application import Application, AppProject
from handlers.control_plane.governance import Governance
from handlers.manifest.tracking import app_identity
from handlers.tell.note import noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    applications: Applications
    index: LiveIndex
    pending: PendingAsks
    policy: PolicyWatch
    settings: ArgoSettingsWatch
    governance: Governance
    control_namespace: str
    metrics: Metrics

    @contextmanager
    def open(self) -> Iterator[None]:
        apps, index = self.applications, self.index
        listeners = apps.listener, apps.project_listener, index.listener
        stored, apps.doubts.stored = apps.doubts.stored, self._stored
        apps.listener, apps.project_listener = self._app_changed, self._project_changed
        self.policy.listener, unheard = self._policy_changed, self.policy.listener
        self.settings.listener, unsettled = self._settings_changed, self.settings.listener
        index.listener = self._live_changed
        for app in self.applications.all():
            self._app_changed(None, app)
        try:
            yield
        finally:
            apps.doubts.stored = stored
            self.policy.listener = unheard
            self.settings.listener = unsettled
            apps.listener, apps.project_listener, index.listener = listeners

    def _app_changed(self, before: Application | None, after: Application | None) -> None:
        self.pending.put(*asks_for_app(before, after), *goodbye(before, after))

    def _project_changed(self, before: AppProject | None, after: AppProject | None) -> None:
        self.pending.put(*asks_for_project(before, after, self.applications.all()))

    def _policy_changed(self) -> None:
        """What was not permitted may be now, and the other way round."""
        held = filter(self.governance.governs, self.applications.all())
        self.pending.put(*(RefreshApp(app=app.key) for app in held if not app.deleting))

    def _settings_changed(self) -> None:
        """Other kinds are left alone, or other syncs held."""
        apps = self.applications.all()
        self.pending.put(*(RefreshApp(app=app.key) for app in apps if not app.deleting))

    def _stored(self, app: Application) -> None:
        """Of a write whose answer was lost: nobody else knows that there is something to say."""
        note = noted(app)
        self.pending.put(*(note.facts if note else ()))

    def _live_changed(self, change: LiveChange) -> None:
        self._count(change)
        self.pending.put(*asks_for_change(change, self._app_of, self._is_deleting))

    def _count(self, change: LiveChange) -> None:
        found = change.after or change.before
        if found is not None:
            self.metrics.cluster_events.labels(found.key.group, found.key.kind).inc()

    def _app_of(self, identity: str) -> AppKey | None:
        """`name`, or `namespace_name` for an Application outside the control namespace."""
        namespace, underscore, name = identity.partition("_")
        key = AppKey(namespace, name) if underscore else AppKey(self.control_namespace, identity)
        known = self.applications.get(key) is not None
        return key if known and app_identity(key, self.control_namespace) == identity else None

    def _is_deleting(self, key: AppKey) -> bool:
        app = self.applications.get(key)
        return app is not None and app.deleting
