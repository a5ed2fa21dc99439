"""Health: the health of one object as a value, with the helpers of all rules. Pure."""

from __future__ import annotations

import msgspec

from bus.status import HealthStatus
from handlers.manifest.access import Manifest, items, number


class Health(msgspec.Struct, frozen=True):
    status: HealthStatus
    message: str = ""


def healthy(message: str = "") -> Health:
    return Health(HealthStatus.HEALTHY, message)


def progressing(message: str = "") -> Health:
    return Health(HealthStatus.PROGRESSING, message)


def degraded(message: str = "") -> Health:
    return Health(HealthStatus.DEGRADED, message)


def suspended(message: str = "") -> Health:
    return Health(HealthStatus.SUSPENDED, message)


def unknown(message: str = "") -> Health:
    return Health(HealthStatus.UNKNOWN, message)


_BY_NAME = {status.value: status for status in HealthStatus}


def status_named(word: str) -> HealthStatus | None:
    """The status of this name; None where there is none, as for the empty text."""
    return _BY_NAME.get(word)


def condition(manifest: Manifest, type_: str) -> Manifest | None:
    """The entry of `status.conditions` with this type."""
    found = (c for c in items(manifest, "status", "conditions") if c.get("type") == type_)
    return next(found, None)


def holds(manifest: Manifest, type_: str) -> bool:
    """Whether the condition of this type is there and `True`."""
    found = condition(manifest, type_)
    return found is not None and found.get("status") == "True"


def observed(manifest: Manifest) -> bool:
    """Whether the controller has seen the newest spec."""
    generation = number(manifest, "metadata", "generation")
    return generation <= number(manifest, "status", "observedGeneration")


def counted(manifest: Manifest, field: str) -> int:
    return number(manifest, "status", field)
