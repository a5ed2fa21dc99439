"""States: what each of our objects is now, as the service may know it, with its hash.

Made from the watched index when it is asked for and kept until the object changes, or a Secret is
seen that may have to be masked in it. The truth is the cluster; nothing here outlives the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.git.credentials import SECRET_TYPE, Secret
from agent.store.applications import Applications
from agent.store.secrets import Secrets
from bus.identity import AppKey, digest_of
from bus.ids import new_id
from bus.link import Item, Member
from handlers.application.application import Application, AppProject
from handlers.ports import Clock
from handlers.report.items import (
    APPLICATION,
    CLUSTER,
    COMPONENT,
    PROJECT,
    REPOSITORY,
    Component,
    Connection,
    Stamp,
    application_item,
    component_item,
    connection_item,
    project_item,
    tombstone,
)
from handlers.report.redaction import Redaction

KINDS = (APPLICATION, PROJECT, REPOSITORY, CLUSTER, COMPONENT)
_SECRET_KINDS = {"repository": REPOSITORY, "cluster": CLUSTER}
Found = Application | AppProject | Connection | Component
_SLICE = 20


@dataclass(slots=True, kw_only=True)
class States:
    applications: Applications
    secrets: Secrets
    redaction: Redaction
    clock: Clock
    components: Callable[[], Mapping[str, Component]]
    _made: dict[tuple[str, str], tuple[str, int, Item]] = field(default_factory=dict)

    def item(self, kind: str, subject: str) -> Item:
        """The state, or a tombstone where there is no such object."""
        found = self._find(kind, subject)
        if found is None:
            before = self._made.pop((kind, subject), None)
            return tombstone(kind, subject, self._stamp(), before[2].uid if before else "")
        return self._item(kind, subject, found)

    async def members(self, kind: str) -> Sequence[Member]:
        """Every object of a kind with its hash, giving way now and then: the first time is work."""
        members: list[Member] = []
        for number, (subject, found) in enumerate(self._all(kind).items()):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            item = self._item(kind, subject, found)
            members.append(Member(subject=subject, uid=item.uid, hash=item.hash))
        return members

    def _item(self, kind: str, subject: str, found: Found) -> Item:
        version, known = _version(found), self.redaction.known.version
        made = self._made.get((kind, subject))
        if made is not None and made[:2] == (version, known):
            return made[2]
        item = self._shaped(found)
        self._made[kind, subject] = (version, known, item)
        return item

    def _shaped(self, found: Found) -> Item:
        if isinstance(found, Application):
            return application_item(found, self._stamp(), self.redaction)
        if isinstance(found, Connection):
            return connection_item(found, self._stamp(), self.redaction)
        if isinstance(found, Component):
            return component_item(found, self._stamp(), self.redaction)
        return project_item(found, self._stamp(), self.redaction)

    def _find(self, kind: str, subject: str) -> Found | None:
        if kind == APPLICATION and subject.count("/") == 1:
            namespace, _, name = subject.partition("/")
            return self.applications.get(AppKey(namespace, name))
        return self._all(kind).get(subject)

    def _all(self, kind: str) -> Mapping[str, Found]:
        if kind == APPLICATION:
            return {str(app.key): app for app in self.applications.all()}
        if kind == PROJECT:
            return {
                f"{one.metadata.namespace}/{one.metadata.name}": one
                for one in self.applications.projects()
            }
        if kind == COMPONENT:
            return self.components()
        connections = (connection_of(secret) for secret in self.secrets.all())
        return {f"{one.namespace}/{one.name}": one for one in connections if one.kind == kind}

    def _stamp(self) -> Stamp:
        return Stamp(id=new_id(), time=self.clock.now().isoformat())


def connection_of(secret: Secret) -> Connection:
    """`kind` is empty where it is neither repository nor cluster."""
    kind = _SECRET_KINDS.get(secret.labels.get(SECRET_TYPE, ""), "")
    return Connection(kind=kind, namespace=secret.namespace, name=secret.name, data=secret.data)


def _version(found: Found) -> str:
    """Another one whenever the object is another one."""
    if isinstance(found, Connection):
        return digest_of(repr(sorted(found.data.items())).encode())
    if isinstance(found, Component):
        return repr(found)
    return f"{found.metadata.uid}:{found.metadata.resource_version}"
