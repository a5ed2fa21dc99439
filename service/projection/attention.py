"""Attention: whether an application needs a person, and for which reason first. Pure.

The order is that of urgency: an application that cannot be read is not known to be well at all; a
failing sync keeps the wanted state out; ill health is what users of the application feel.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from bus.link import StateBody
from bus.status import ConditionType
from service.projection.deployment import SyncFailure
from service.projection.values import listed, mapping


class Attention(StrEnum):
    """Why an application needs a person; `NONE`: it does not."""

    DEGRADED = "Degraded"
    UNREADABLE = "Unreadable"
    """Its spec is invalid, or its source cannot be read or rendered."""
    SYNC_FAILED = "SyncFailed"
    """The last sync failed, or fails and is being retried."""
    MISSING = "Missing"
    STUCK = "Stuck"
    """Progressing, and an object of it is degraded: it will not become healthy by waiting."""
    OUT_OF_SYNC = "OutOfSync"
    """It differs from Git, and auto-sync is off or held."""
    NONE = ""


_UNREADABLE = (
    ConditionType.INVALID_SPEC_ERROR,
    ConditionType.COMPARISON_ERROR,
    ConditionType.UNKNOWN_ERROR,
    ConditionType.DELETION_ERROR,
)


def attention_of(body: StateBody, failure: SyncFailure | None, *, automated: bool) -> Attention:
    """The first that holds."""
    status, cause = body.status, body.cause
    health = mapping(status.get("health")).get("status")
    sync = mapping(status.get("sync")).get("status")
    stuck = health == "Progressing" and cause is not None and cause.health == "Degraded"
    waits = not automated or bool(held_condition(status))
    reasons = (
        (Attention.DEGRADED, health == "Degraded"),
        (Attention.UNREADABLE, bool(unreadable_condition(status))),
        (Attention.SYNC_FAILED, failure is not None),
        (Attention.MISSING, health == "Missing"),
        (Attention.STUCK, stuck),
        (
            Attention.OUT_OF_SYNC,
            sync == "OutOfSync" and waits,
        ),
    )
    return next((attention for attention, holds in reasons if holds), Attention.NONE)


def unreadable_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first condition that says so; empty where there is none."""
    return _condition(status, _UNREADABLE)


def held_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first condition for which automated syncs wait for a person; empty: they do not."""
    return _condition(status, (ConditionType.AUTO_SYNC_HELD_WARNING,))


def _condition(status: Mapping[str, Any], types: Collection[str]) -> Mapping[str, Any]:
    found = (mapping(one) for one in listed(status.get("conditions")))
    return next((one for one in found if one.get("type") in types), {})
