"""The reported states of connections, trusted keys and the agent's own components. Pure.

A connection is a Secret in Argo CD's format. Its public fields are reported, redacted, and whether
it holds a credential; never the credential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bus.link import LinkItem
from bus.link.kinds import CLUSTER, COMPONENT
from handlers.application.application import Metadata
from handlers.report.items import ItemStamp, state_body, state_item
from handlers.report.redaction import Redaction
from handlers.trust.trusted import Trusted

_PUBLIC = frozenset(
    {"url", "type", "name", "project", "server", "insecure", "enableOCI", "enableLfs", "namespaces"}
)
SUCCESSFUL, FAILED, UNKNOWN = "Successful", "Failed", "Unknown"
"""The words of `ConnectionState.status`."""


class ConnectionState(msgspec.Struct, frozen=True, kw_only=True):
    """How the last use of a connection ended, in Argo CD's words."""

    status: str
    message: str = ""
    attempted_at: str = ""
    contact_at: str = ""
    """When a cluster that fails could be used last."""
    server_version: str = ""
    """Of a cluster; empty where it is not known."""
    objects: int = 0
    """Objects watched in a cluster."""
    applications: int = 0
    """Applications that are deployed to a cluster."""

    def same_outcome_as(self, other: ConnectionState) -> bool:
        """Whether but the time is the same."""
        return (self.status, self.message) == (other.status, other.message)


class ConnectionItem(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret of Argo CD's format for a repository, a prefix of them or a cluster, decoded."""

    kind: str
    namespace: str
    name: str
    data: Mapping[str, str]
    uid: str = ""
    resource_version: str = ""
    state: ConnectionState | None = None
    """None while it was not used."""

    def __repr__(self) -> str:
        return f"Connection({self.kind} {self.namespace}/{self.name})"


class ComponentItem(msgspec.Struct, frozen=True, kw_only=True):
    """Something the agent stands on."""

    name: str
    status: str
    message: str = ""
    version: str = ""


def connection_item(found: ConnectionItem, stamp: ItemStamp, redaction: Redaction) -> LinkItem:
    """A repository or cluster: where and what, and whether there is a credential; never which."""
    spec: dict[str, Any] = {
        name: redaction.text(value) for name, value in found.data.items() if name in _PUBLIC
    }
    spec["hasCredential"] = any(value for name, value in found.data.items() if name not in _PUBLIC)
    metadata = Metadata(namespace=found.namespace, name=found.name, uid=found.uid)
    status: dict[str, Any] = {}
    if found.state is not None:
        status["connectionState"] = _state(found.state, redaction)
        if found.kind == CLUSTER.name:
            status["info"] = _cluster_info(found.state)
    body = state_body(found.kind, metadata, redaction)
    body = msgspec.structs.replace(
        body, spec=spec, status=status, edit_version=found.resource_version
    )
    return state_item(body, metadata, found.data.get("project", ""), stamp)


def _state(state: ConnectionState, redaction: Redaction) -> dict[str, str]:
    state_fields = {"status": state.status, "message": redaction.text(state.message)}
    contact = {"contactAt": state.contact_at} if state.contact_at else {}
    return {**state_fields, "attemptedAt": state.attempted_at, **contact}


def _cluster_info(state: ConnectionState) -> dict[str, Any]:
    """The facts of a cluster as Argo CD's API names them."""
    return {
        "serverVersion": state.server_version,
        "applicationsCount": state.applications,
        "cacheInfo": {"resourcesCount": state.objects},
    }


def component_item(found: ComponentItem, stamp: ItemStamp, redaction: Redaction) -> LinkItem:
    metadata = Metadata(name=found.name)
    status = redaction.value(msgspec.to_builtins(found))
    body = msgspec.structs.replace(state_body(COMPONENT.name, metadata, redaction), status=status)
    item = state_item(body, metadata, "", stamp)
    return msgspec.structs.replace(item, subject=found.name)


_IDENTITY = frozenset({"kind", "name"})


def trusted_item(
    found: Trusted, namespace: str, stamp: ItemStamp, redaction: Redaction
) -> LinkItem:
    metadata = Metadata(namespace=namespace, name=found.name)
    spec = {name: it for name, it in msgspec.to_builtins(found).items() if name not in _IDENTITY}
    body = state_body(found.kind, metadata, redaction)
    body = msgspec.structs.replace(body, spec=redaction.value(spec))
    return state_item(body, metadata, "", stamp)
