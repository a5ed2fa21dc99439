"""Argo's own kinds. An Application has no rule on purpose: who orders apps of apps adds one."""

from __future__ import annotations

from handlers.health.states import Health, degraded, healthy, progressing, unknown
from handlers.manifest.access import Manifest, text


def workflow(manifest: Manifest) -> Health:
    said = text(manifest, "status", "message")
    match text(manifest, "status", "phase"):
        case "" | "Pending" | "Running":
            return progressing(said)
        case "Succeeded":
            return healthy(said)
        case "Failed" | "Error":
            return degraded(said)
        case _:
            return unknown(said)
