"""The core API group holds Secrets and Events: paths and fields that several adapters need."""

from __future__ import annotations

from handlers.manifest import access


def secrets_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/secrets"


def events_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/events"


def last_seen(event: object) -> str:
    """When an event was seen last, as RFC 3339; newer writers fill other fields than older ones."""
    seen = access.text(event, "lastTimestamp") or access.text(event, "eventTime")
    return seen or access.text(event, "metadata", "creationTimestamp")
