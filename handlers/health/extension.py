"""APIService, CustomResourceDefinition, PodDisruptionBudget: what extends or guards the API.

The last two follow Argo CD's scripts in substance. One difference: a definition that is still being
installed is progressing, not degraded, because every definition is for a moment.
"""

from __future__ import annotations

from handlers.health.states import (
    Health,
    condition,
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
    """Judge a budget by its conditions: too few pods for a disruption is what a budget is for."""
    conditions = items(manifest, "status", "conditions")
    if not conditions:
        return progressing("the budget has no status yet")
    for found in conditions:
        if found.get("status") == "False" and found.get("reason") != "InsufficientPods":
            return degraded(text(found, "message"))
    return healthy()
