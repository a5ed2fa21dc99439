"""Pods: containers that cannot start speak first, then the phase.

A pod that restarts for ever is judged by readiness; one that is meant to end is progressing until
it has ended. `ignore-restart-policy` puts an endless pod of another policy among the first.
"""

from __future__ import annotations

from collections.abc import Iterator

from handlers.health.states import Health, degraded, healthy, holds, progressing, unknown
from handlers.manifest.access import Manifest, annotation, items, mapping, number, text
from handlers.manifest.hooks import is_hook

IGNORE_RESTART_POLICY = "argocd.argoproj.io/ignore-restart-policy"


def pod(manifest: Manifest) -> Health:
    endless = _runs_for_ever(manifest)
    stuck = list(_stuck(manifest)) if endless else []
    if stuck:
        return degraded(", ".join(stuck))
    said = text(manifest, "status", "message")
    match text(manifest, "status", "phase"):
        case "Pending":
            return progressing(said)
        case "Succeeded":
            return healthy(said)
        case "Failed":
            return degraded(said or _first_failure(manifest))
        case "Running":
            return _running(manifest, said) if endless else progressing(said)
        case _:
            return unknown(said)


def _runs_for_ever(manifest: Manifest) -> bool:
    """The server's default policy is `Always`."""
    if text(manifest, "spec", "restartPolicy") in ("Always", ""):
        return True
    return annotation(manifest, IGNORE_RESTART_POLICY) == "true" and not is_hook(manifest)


def _stuck(manifest: Manifest) -> Iterator[str]:
    for status in items(manifest, "status", "containerStatuses"):
        waiting = mapping(status, "state", "waiting")
        reason = text(waiting, "reason")
        if reason.startswith("Err") or reason.endswith(("Error", "BackOff")):
            yield text(waiting, "message") or reason


def _running(manifest: Manifest, said: str) -> Health:
    if holds(manifest, "Ready"):
        return healthy(said)
    crashed = any(
        status.get("lastState", {}).get("terminated") is not None
        for status in items(manifest, "status", "containerStatuses")
        if isinstance(status.get("lastState", {}), dict)
    )
    return degraded(said) if crashed else progressing(said)


def _first_failure(manifest: Manifest) -> str:
    lists = ("initContainerStatuses", "containerStatuses")
    statuses = (status for each in lists for status in items(manifest, "status", each))
    return next(filter(None, map(_failure, statuses)), "")


def _failure(status: Manifest) -> str:
    ended = mapping(status, "state", "terminated")
    if text(ended, "message"):
        return text(ended, "message")
    if text(ended, "reason") == "OOMKilled":
        return "OOMKilled"
    code = number(ended, "exitCode")
    return f'container "{text(status, "name")}" failed with exit code {code}' if code else ""
