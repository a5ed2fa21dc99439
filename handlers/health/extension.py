"""APIService, CustomResourceDefinition, PodDisruptionBudget: what extends or guards the API.

The last two follow Argo CD's scripts in substance. One difference: a definition that is still being
installed is progressing, not degraded, because every definition is for a moment.
"""

from __future__ import annotations

from handlers.health.states import (
    Health,
    condition,
    counted,
    degraded,
    healthy,
    holds,
    progressing,
)
from handlers.manifest.access import Manifest, items, text


def api_service(manifest: Manifest) -> Health:
    available = condition(manifest, "Available")
    if available is None:
        return progressing("the API service has not been looked at yet")
    said = f"{text(available, 'reason')}: {text(available, 'message')}"
    return healthy(said) if available.get("status") == "True" else progressing(said)


def custom_resource_definition(manifest: Manifest) -> Health:
    if not items(manifest, "status", "conditions"):
        return progressing("the definition has no status yet")
    if holds(manifest, "Terminating"):
        return progressing("the definition is being deleted")
    names = condition(manifest, "NamesAccepted")
    if names is not None and names.get("status") == "False":
        return degraded(f"names not accepted: {text(names, 'message')}")
    if not holds(manifest, "Established"):
        return _not_established(manifest)
    if holds(manifest, "NonStructuralSchema"):
        return degraded(text(condition(manifest, "NonStructuralSchema"), "message"))
    return healthy("the definition is established")


def _not_established(manifest: Manifest) -> Health:
    established = condition(manifest, "Established")
    if established is None or established.get("reason") == "Installing":
        return progressing("the definition is being installed")
    return degraded(f"not established: {text(established, 'message')}")


def pod_disruption_budget(manifest: Manifest) -> Health:
    """A budget that allows no disruption is healthy as long as enough pods are."""
    allowed = condition(manifest, "DisruptionAllowed")
    if allowed is None:
        return progressing("the budget has no status yet")
    if allowed.get("reason") == "SyncFailed":
        return degraded(text(allowed, "message"))
    if counted(manifest, "currentHealthy") < counted(manifest, "desiredHealthy"):
        have, need = counted(manifest, "currentHealthy"), counted(manifest, "desiredHealthy")
        return progressing(f"{have} of {need} pods are healthy")
    return healthy()
