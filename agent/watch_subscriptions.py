"""WatchSubscriptions turn what the watches see into asks and facts, while the agent acts.

Opening them asks for every Application as if it were new: changes that were missed before are found
by a refresh, not by remembering. Where replicas divide the shards, each asks for its own only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from agent.git.credentials import Secret
from agent.ingress.object_facts import ObjectFacts
from agent.ingress.pending_asks import PendingAsks
from agent.ingress.tracked_applications import TrackedApplications
from agent.ingress.watch_asks import (
    asks_for_app,
    asks_for_change,
    asks_for_project,
    asks_of_orphans,
    deletion_fact,
    is_released,
    is_sharing,
)
from agent.kube.cluster_session import ClusterSession
from agent.kube.clusters import ClusterSessions, Session
from agent.kube.live_change import LiveChange
from agent.kube.own_session import OwnClusterSession
from agent.kube.session_state import SessionState
from agent.observe.metrics import AgentMetrics
from agent.replicas.shard_ownership import ShardOwnership
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets
from agent.store.config_maps import ArgoSettingsWatch, PolicyWatch
from agent.store.signing_keys import SigningKeys
from bus.events import CompareApp, DeleteApp, RefreshApp
from bus.identity import AppKey, shard_of
from handlers.application.application import Application, AppProject
from handlers.application.decryption_keys import key_secrets
from handlers.application.ignore_rules import ignore_rules
from handlers.application.source_hydrator import as_dry, hydrations
from handlers.comparison.orphaned_resources import warns
from handlers.control_plane.governance import Governance
from handlers.fact_journal import journal_entry


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSubscriptions:
    applications: Applications
    clusters: ClusterSessions
    ownership: ShardOwnership
    pending: PendingAsks
    policy: PolicyWatch
    settings: ArgoSettingsWatch
    governance: Governance
    secrets: ArgoSecrets
    signing_keys: SigningKeys
    demand: Callable[[Application], str]
    """What the project of an Application demands of the signatures of its sources."""
    tracked: TrackedApplications
    object_facts: ObjectFacts | None
    """None where the facts of objects are switched off."""
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
            self.signing_keys.changes.subscribed(self._keys_changed),
            self.secrets.indexed.subscribed(self._secret_changed),
            self.clusters.live_changes.subscribed(self._live_changed),
            self.clusters.own_changes.subscribed(self._applied),
            self.clusters.changes.subscribed(self._session_changed),
            self.clusters.rerouted.subscribed(self._look_again),
            self.ownership.gained.subscribed(self._shards_gained),
        ):
            for app in apps.all():
                self._app_changed(None, app)
            yield

    def _app_changed(self, before: Application | None, after: Application | None) -> None:
        self.pending.put(*asks_for_app(before, after), *deletion_fact(before, after))

    def _shards_gained(self, shards: frozenset[str]) -> None:
        """Ask for the Applications of shards that another replica held."""
        for app in self.applications.all():
            if shard_of(app.key.token) in shards:
                self._app_changed(None, app)

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
        self.pending.put(*hydrations(apps))

    def _keys_changed(self) -> None:
        """Refresh the Applications whose commits have to be signed: others may prove them now."""
        apps = self.applications.all()
        self.pending.put(*hydrations(app for app in apps if self.demand(as_dry(app))))
        signed = filter(self.demand, apps)
        self.pending.put(*(RefreshApp(app=app.key) for app in signed if not app.deleting))

    def _secret_changed(self, secret: Secret) -> None:
        """Refresh the Applications whose projects name the Secret for keys that decrypt Git."""
        projects = self.applications.projects()
        names = {one.metadata.name for one in projects if secret.name in key_secrets(one)}
        mine = (app for app in self.applications.all() if (app.spec.project or "default") in names)
        self.pending.put(*(RefreshApp(app=app.key) for app in mine if not app.deleting))

    def _stored(self, app: Application) -> None:
        """Publish the facts of a stored write whose answer was lost: no handler will."""
        entry = journal_entry(app)
        self.pending.put(*(entry.facts if entry else ()))

    def _session_changed(self, session: ClusterSession) -> None:
        """Ask the Applications of a cluster that answers again, or that does not any more."""
        is_current = self.clusters.of_server(session.cluster.server) is session
        if is_current and session.state is not SessionState.CONNECTING:
            for key in self.clusters.users_of(session):
                self._look_again(key)

    def _look_again(self, key: AppKey) -> None:
        app = self.applications.get(key)
        if app is not None:
            self.pending.put((DeleteApp if app.deleting else RefreshApp)(app=key))

    def _live_changed(self, session: Session, change: LiveChange) -> None:
        self._count(change)
        settings = self.settings.now
        ignored = ignore_rules((), settings.rules_of_updates)
        self.pending.put(
            *asks_for_change(change, partial(self.tracked.key, session), self._is_deleting, ignored)
        )
        if is_released(change):
            # The object may belong to another application now that has it in Git too.
            sharing = filter(is_sharing, self.applications.all())
            self.pending.put(*(CompareApp(app=app.key) for app in sharing))
        self.pending.put(*asks_of_orphans(change, self._watched_for_orphans(session)))
        # What a first list brings has not changed.
        if isinstance(session, OwnClusterSession) or session.is_open:
            self._publish(session, change, ours=False)

    def _applied(self, session: Session, change: LiveChange) -> None:
        self._publish(session, change, ours=True)

    def _publish(self, session: Session, change: LiveChange, *, ours: bool) -> None:
        """Publish the change to the application that has the object now, else that had it."""
        if self.object_facts is None:
            return
        for live in (change.after, change.before):
            identity = live.application if live is not None else ""
            app = self.tracked.application(session, identity) if identity else None
            if app is not None:
                self.object_facts.put(app, session.cluster.server, change, ours=ours)
                return

    def _watched_for_orphans(self, session: Session) -> Iterator[Application]:
        """Find the Applications of the cluster whose projects warn of orphaned resources."""
        names = {one.metadata.name for one in self.applications.projects() if warns(one)}
        users = self.clusters.users_of(session) if names else ()
        found = (self.applications.get(key) for key in users)
        return (app for app in found if app is not None and app.spec.project in names)

    def _count(self, change: LiveChange) -> None:
        found = change.after or change.before
        if found is not None:
            self.metrics.cluster_events.labels(found.key.group, found.key.kind).inc()

    def _is_deleting(self, key: AppKey) -> bool:
        app = self.applications.get(key)
        return app is not None and app.deleting
