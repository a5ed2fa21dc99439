"""Symptom: why an object is not healthy, in the words of its own status. Pure.

Health says *that* an object is not healthy; a symptom says why: the state of a container, a
condition, a phase. Only the object itself is read here; Events of the cluster are another source,
see `agent/bridge/reporting/causes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from handlers.manifest.access import Manifest, api_version, items, kind, mapping, number, text

_STARTING = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons for which every container waits for a moment at its start."""
_BAD_WHEN_TRUE = ("Failed", "ReplicaFailure", "Stalled", "FailureTarget")
_BAD_WHEN_FALSE = ("Ready", "Available", "Progressing", "Established", "NamesAccepted", "Synced")


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    reason: str
    message: str = ""
    since: str = ""


def symptom_of(manifest: Manifest) -> Symptom | None:
    """The first symptom of the object; None where its status shows none."""
    if kind(manifest) == "Pod" and api_version(manifest) == "v1":
        return _first(manifest, _of_container, _of_phase, _of_conditions)
    return _first(manifest, _of_conditions)


def _first(manifest: Manifest, *finders: Callable[[Manifest], Symptom | None]) -> Symptom | None:
    return next((found for find in finders if (found := find(manifest)) is not None), None)


def _of_container(pod: Manifest) -> Symptom | None:
    """The first container that waits or failed; init containers run first, so they count first."""
    since = _time_of(pod, "Ready") or text(pod, "metadata", "creationTimestamp")
    for status in _container_statuses(pod):
        waiting = mapping(status, "state", "waiting")
        reason = text(waiting, "reason")
        if reason and reason not in _STARTING:
            last = mapping(status, "lastState", "terminated")
            parts = (text(waiting, "message"), _exit(last) and f"last run: {_exit(last)}")
            return Symptom(reason=reason, message=_about(status, parts), since=since)
        ended = mapping(status, "state", "terminated")
        if number(ended, "exitCode"):
            message = _about(status, (_exit(ended), text(ended, "message")))
            finished = text(ended, "finishedAt") or since
            return Symptom(reason=text(ended, "reason") or "Error", message=message, since=finished)
    return None


def _container_statuses(pod: Manifest) -> Iterator[Mapping[str, Any]]:
    for name in ("initContainerStatuses", "containerStatuses"):
        yield from items(pod, "status", name)


def _exit(ended: Mapping[str, Any]) -> str:
    """How a container ended; empty where it did not, or ended well."""
    code, reason = number(ended, "exitCode"), text(ended, "reason")
    if not code:
        return ""
    return f"exit code {code}" + (f" ({reason})" if reason not in ("", "Error") else "")


def _about(status: Mapping[str, Any], parts: Iterable[str]) -> str:
    return f"container {text(status, 'name')}: " + "; ".join(part for part in parts if part)


def _of_phase(pod: Manifest) -> Symptom | None:
    """The reason of the pod itself: an evicted pod has no container to blame."""
    reason = text(pod, "status", "reason")
    if not reason:
        return None
    since = _time_of(pod, "Ready") or text(pod, "metadata", "creationTimestamp")
    return Symptom(reason=reason, message=text(pod, "status", "message"), since=since)


def _of_conditions(manifest: Manifest) -> Symptom | None:
    """Conditions that report a failure, then scheduling, then those that should hold and do not."""
    conditions = {str(one.get("type")): one for one in items(manifest, "status", "conditions")}
    symptoms = (
        *((name, "True") for name in _BAD_WHEN_TRUE),
        ("PodScheduled", "False"),
        *((name, "False") for name in _BAD_WHEN_FALSE),
    )
    for name, status in symptoms:
        one = conditions.get(name)
        if one is not None and one.get("status") == status:
            return Symptom(
                reason=text(one, "reason") or name,
                message=text(one, "message"),
                since=text(one, "lastTransitionTime"),
            )
    return None


def _time_of(manifest: Manifest, condition: str) -> str:
    conditions = items(manifest, "status", "conditions")
    found = (one for one in conditions if one.get("type") == condition)
    return next((text(one, "lastTransitionTime") for one in found), "")
