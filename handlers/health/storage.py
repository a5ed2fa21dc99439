"""PersistentVolumeClaim: whether it is bound."""

from __future__ import annotations

from handlers.health.states import Health, degraded, healthy, progressing, unknown
from handlers.manifest.access import Manifest, text


def persistent_volume_claim(manifest: Manifest) -> Health:
    phase = text(manifest, "status", "phase")
    match phase:
        case "Bound":
            return healthy()
        case "Pending":
            return progressing("the claim waits for a volume")
        case "Lost":
            return degraded("the claim lost its volume")
        case _:
            return unknown(
                f"phase {phase!r} of the claim is not known" if phase else "no phase yet"
            )
