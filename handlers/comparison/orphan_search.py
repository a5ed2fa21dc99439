"""OrphanSearch finds the orphaned resources of an Application among the live objects."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from bus.identity import ResourceKey
from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.comparison.orphaned_resources import looks_at, orphans
from handlers.manifest.exclusions import exclusion
from handlers.manifest.tracking import app_of
from handlers.ports import ApplicationLookup, DestinationSession


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanSearch:
    apps: ApplicationLookup
    control_namespace: str
    settings: Callable[[], ArgoSettings]

    def find(
        self,
        app: Application,
        session: DestinationSession,
        known: Collection[ResourceKey],
        is_hidden: Callable[[ResourceKey], bool] = lambda _: False,
    ) -> tuple[ResourceKey, ...]:
        """Find them, sorted; none where the project does not ask for them.

        `known` are the objects of the Application itself.
        """
        project, space = self.apps.project(app.spec.project), app.spec.destination.namespace
        if not looks_at(app, project, session.registered):
            return ()
        is_excluded = exclusion(self.settings().resources, session.cluster.server)
        roots = (
            one
            for one in session.live.roots_in(space)
            if not is_excluded(one.key) and not is_hidden(one.key)
        )
        return orphans(project, roots, known, self._exists)

    def _exists(self, identity: str) -> bool:
        return self.apps.get(app_of(identity, self.control_namespace)) is not None
