"""The health of Red Hat 3scale: the API manager and what it manages."""

from __future__ import annotations

from handlers.health.conditions import conditions, message_of
from handlers.health.predicates import Filled, Has, Positive
from handlers.health.rule import DEGRADED, HEALTHY, Conditions, Field, Rule, Scan, When
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, get

_READY = Scan(healthy="Ready=True", degraded=("Failed=True", "Invalid=True", "Orphan=True"))


def api_manager(manifest: Manifest) -> Health:
    """All deployments are ready, or the condition `Available` decides."""
    ready = Filled("status.deployments.ready")(manifest)
    others = (Filled("status.deployments.starting"), Filled("status.deployments.stopped"))
    if ready and not any(one(manifest) for one in others):
        return healthy("all deployments are ready")
    for entry in conditions(manifest):
        if entry.get("type") == "Available":
            if entry.get("status") == "True":
                return healthy(message_of(entry))
            if entry.get("reason"):
                return degraded(message_of(entry))
    return progressing("not all deployments are ready")


def _has_no_id(manifest: Manifest) -> bool:
    return not isinstance(get(manifest, "status", "applicationID"), int)


KINDS: KindTable = {
    "apps.3scale.net": {"APIManager": api_manager},
    "capabilities.3scale.net": {
        "ActiveDoc OpenAPI CustomPolicyDefinition ApplicationAuth": Rule(_READY),
        "Backend Product": Rule(
            Scan(healthy="Synced=True", degraded=("Invalid=True", "Orphan=True", "Failed=True"))
        ),
        "DeveloperAccount": Rule(
            Scan(
                healthy="Ready=True",
                degraded=("Invalid=True", "Failed=True"),
                suspended="Waiting=True",
            )
        ),
        "DeveloperUser": Rule(Field("status.developerUserState", suspended="suspended"), _READY),
        "ProxyConfigPromote": Rule(
            Scan(healthy="Ready=True", progressing="In-progress=True", degraded="Failed=True")
        ),
        "Application": Rule(
            Field("status.state", suspended="suspended"),
            Conditions(healthy="Ready=True"),
            When(DEGRADED, Has("Ready!=True"), _has_no_id, message="the application has no id"),
        ),
        "Tenant": Rule(
            When(
                HEALTHY,
                Has("Ready=True"),
                Positive("status.tenantId"),
                Positive("status.adminId"),
            ),
            Conditions(degraded="Ready!=True"),
        ),
    },
}
