"""Instances: the pods that run for each application, found in the live index.

A change only marks the applications that it may belong to. Once a second the marked ones are looked
at, so that a rollout of hundreds of pods is a few lists and not hundreds. What is shown is what the
last look found: it is what was told, too. Now and then everything is looked at again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.bridge.executor.nodes import nodes_of
from agent.kube.index import LiveIndex
from agent.store.applications import Applications
from handlers.application.application import Application
from handlers.manifest.tracking import app_identity
from handlers.ports import LiveObject
from handlers.report.instances import INSTANCES, Instances, instances_of

_LOOK_SECONDS = 1.0
_LOOKS_UNTIL_ALL = 300
_SLICE = 20


@dataclass(slots=True, kw_only=True)
class Running:
    """By application; `observe` and `application_changed` mark, `look` finds out."""

    applications: Applications
    index: LiveIndex
    control_namespace: str
    _found: dict[str, Instances] = field(default_factory=dict)
    _marked: set[str] = field(default_factory=set)

    def __call__(self) -> Mapping[str, Instances]:
        """By `namespace/name` of those that have any."""
        return self._found

    def observe(self, before: LiveObject | None, after: LiveObject | None) -> None:
        """Of the index: called often, so what is no pod and owns nothing of ours ends at once."""
        if before is not None and after is not None and _place(before) == _place(after):
            return
        for live in (before, after):
            if live is not None and (live.pod or live.owners or live.tracking):
                self._marked |= self.index.roots_of(live)

    def application_changed(self, subject: str) -> None:
        self._marked.add(subject)

    async def look(self, *, everywhere: bool = False) -> Sequence[str]:
        """Subjects whose instances are other ones than before."""
        marked, self._marked = self._marked, set()
        apps = {str(app.key): app for app in self.applications.all()}
        changed = [subject for subject in self._found if subject not in apps]
        for subject in changed:
            del self._found[subject]
        wanted = [
            (subject, app)
            for subject, app in apps.items()
            if everywhere or subject in marked or self._identity(app) in marked
        ]
        for number, (subject, app) in enumerate(wanted):
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            if self._take(subject, app):
                changed.append(subject)
        return changed

    async def watch(self, changed: Callable[[str, str], None]) -> None:
        """For ever: `changed` is called with kind and subject."""
        looks = 0
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            looks += 1
            everywhere = looks % _LOOKS_UNTIL_ALL == 0
            if self._marked or everywhere:
                for subject in await self.look(everywhere=everywhere):
                    changed(INSTANCES, subject)

    def _take(self, subject: str, app: Application) -> bool:
        nodes = nodes_of(app, self.index).values()
        found = instances_of(app, (node.live for node in nodes))
        if found == self._found.get(subject):
            return False
        if found is None:
            del self._found[subject]
        else:
            self._found[subject] = found
        return True

    def _identity(self, app: Application) -> str:
        return app_identity(app.key, self.control_namespace)


def _place(live: LiveObject) -> tuple[object, ...]:
    """What of an object decides whose instance it is, and which."""
    return live.uid, live.owners, live.tracking, live.pod
