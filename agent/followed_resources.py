"""FollowedResources are what the agent watches from its start on, acting or standing by.

A standby is warm by them, and reports what it waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agent.dependencies import AgentDependencies
from agent.kube.watch import KindWatch
from agent.store import feeds
from agent.store.application_watches import ApplicationWatches
from agent.store.feeds import ApplicationSets

_SCRIPTS_SECONDS = 30.0
"""How long the health scripts may take for what is in the cluster before this agent acts."""
_STORES = ("Application", "AppProject", "Secret")


@dataclass(slots=True, kw_only=True)
class FollowedResources:
    parts: AgentDependencies
    _elsewhere: ApplicationWatches = field(init=False)
    _listed: dict[str, asyncio.Event] = field(
        default_factory=lambda: {name: asyncio.Event() for name in _STORES}
    )

    def __post_init__(self) -> None:
        parts = self.parts
        self._elsewhere = ApplicationWatches(
            client=parts.client,
            applications=parts.applications,
            control_namespace=parts.settings.namespace,
            namespaces=lambda: parts.argo_settings.now.source_namespaces,
        )

    def require(self) -> None:
        """Register what has to be listed for the agent to be ready, with the text for `/readyz`."""
        self.parts.readiness.require("live state", self._live_state)
        for name in _STORES:
            self.parts.readiness.wait_for(name, f"the {name}s are not listed yet")

    async def listed(self) -> None:
        """Wait until everything is listed that handlers read."""
        await self.parts.live.synced()
        for listed in self._listed.values():
            await listed.wait()
        await self.parts.git_trust.config_maps.known()
        await self.parts.signing_keys.config_maps.known()
        await self.parts.argo_settings.config_maps.known()
        await self._elsewhere.settled.wait()
        await self.parts.live.index.overrides.drained(_SCRIPTS_SECONDS)
        await self.parts.policy.config_map.known.wait()

    def watches(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Yield the name and the work of each; the work runs until it is cancelled."""
        parts, namespace = self.parts, self.parts.settings.namespace
        yield from self._stores(namespace)
        of_argo = (*parts.git_trust.config_maps.members, *parts.argo_settings.config_maps.members)
        own = (parts.policy.config_map, *parts.signing_keys.config_maps.members)
        for config_map in (*own, *of_argo):
            yield f"watch ConfigMap {config_map.name}", config_map.watch(parts.client, namespace)
        yield "live state", self._follow_objects(parts.live.run())
        yield "cluster sessions", self._follow_objects(parts.clusters.run())
        yield "applications elsewhere", self._follow_elsewhere()
        yield "health scripts", parts.live.index.overrides.run(parts.sandbox)

    def _stores(self, namespace: str) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        applications, secrets = self.parts.applications, self.parts.secrets
        app, project, secret = (partial(self._have_listed, name) for name in _STORES)
        followed = (
            (
                feeds.applications_of(namespace),
                feeds.application_feed(applications, namespace, app),
            ),
            (feeds.projects_of(namespace), feeds.project_feed(applications, project)),
            (feeds.secrets_of(namespace), feeds.secret_feed(secrets, secret)),
            (feeds.application_sets_of(namespace), ApplicationSets().feed()),
        )
        for subject, feed in followed:
            watch = KindWatch(self.parts.client, subject, feed)
            yield f"watch {subject.name} of {namespace}", watch.run()

    async def _follow_elsewhere(self) -> None:
        """Follow the Applications of other namespaces, once the settings say which."""
        parts, watches = self.parts, self._elsewhere
        await parts.argo_settings.config_maps.known()
        with parts.argo_settings.changes.subscribed(watches.changed):
            await watches.run()

    async def _follow_objects(self, following: Coroutine[Any, Any, None]) -> None:
        """Begin with the settings: the health scripts among them judge what is listed."""
        with closing(following):
            await self.parts.argo_settings.config_maps.known()
            await following

    def _have_listed(self, name: str) -> None:
        self.parts.readiness.hold(name)
        self._listed[name].set()

    def _live_state(self) -> str:
        return "" if self.parts.live.is_synced else "the cluster's objects are not listed yet"
