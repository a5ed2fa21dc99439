"""InstanceTracker: the pods that run for each application, taken from the live index.

A change in the index only marks the applications that it may belong to; their pods are listed soon
after, all changes of a second in one pass. What the tracker answers is the result of the latest
pass, which is also what was reported. Every few minutes all applications are listed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.bridge.reporting.change_marks import ChangeMarks, in_slices, marked_applications
from agent.bridge.reporting.object_nodes import nodes_of
from agent.kube.index import LiveIndex
from agent.store.applications import Applications
from bus.link.kinds import INSTANCES
from handlers.application.application import Application
from handlers.ports import LiveObject
from handlers.report.instances import Instances, instances_of

_COLLECT_SECONDS = 1.0
_EVERYTHING_SECONDS = 300.0


@dataclass(slots=True, kw_only=True)
class InstanceTracker:
    """`observe` and `application_changed` mark applications, `update` lists their pods."""

    applications: Applications
    index_of: Callable[[Application], LiveIndex | None]
    """The index of its cluster; None while that cannot be read."""
    control_namespace: str
    _instances: dict[str, Instances] = field(default_factory=dict)
    _marks: ChangeMarks = field(
        default_factory=lambda: ChangeMarks(collect_seconds=_COLLECT_SECONDS)
    )

    def __call__(self) -> Mapping[str, Instances]:
        """The instances by `namespace/name` of the application, if it has any."""
        return self._instances

    def observe(
        self, index: LiveIndex, before: LiveObject | None, after: LiveObject | None
    ) -> None:
        """Mark the applications of a changed object; called for every change of an index."""
        if before is not None and after is not None and _facets(before) == _facets(after):
            return
        for live in (before, after):
            if live is not None and (live.pod or live.owners or live.tracking):
                self._marks.add(index.roots_of(live))

    def application_changed(self, subject: str) -> None:
        self._marks.add((subject,))

    async def update(self, *, everywhere: bool = False) -> Sequence[str]:
        """List the pods of the marked applications, or of all; returns the changed subjects."""
        marked = self._marks.take()
        apps = {str(app.key): app for app in self.applications.all()}
        changed = [subject for subject in self._instances if subject not in apps]
        for subject in changed:
            del self._instances[subject]
        subjects = apps.keys() if everywhere else marked
        due = marked_applications(apps, subjects, self.control_namespace)
        async for subject, app in in_slices(due):
            if self._update_one(subject, app):
                changed.append(subject)
        return changed

    async def watch(self, changed: Callable[[str, str], None]) -> None:
        """Call `changed` with kind and subject of each change, until cancelled."""
        everything_at = time.monotonic() + _EVERYTHING_SECONDS
        while True:
            await self._marks.wait(max(0.0, everything_at - time.monotonic()))
            everywhere = time.monotonic() >= everything_at
            if everywhere:
                everything_at = time.monotonic() + _EVERYTHING_SECONDS
            for subject in await self.update(everywhere=everywhere):
                changed(INSTANCES.name, subject)

    def _update_one(self, subject: str, app: Application) -> bool:
        index = self.index_of(app)
        if index is None:
            return False
        nodes = nodes_of(app, index).values()
        found = instances_of(app, (node.live for node in nodes))
        if found == self._instances.get(subject):
            return False
        if found is None:
            del self._instances[subject]
        else:
            self._instances[subject] = found
        return True


def _facets(live: LiveObject) -> tuple[object, ...]:
    """The fields of an object that decide whether it is an instance, and of what."""
    return live.uid, live.owners, live.tracking, live.pod
