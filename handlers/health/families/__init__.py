"""families: the rules of health, a module for each family of kinds; HEALTH_TABLE holds all of them.

A kind is added as a row of its family. A new family is a module with `KINDS`, and a line here.
"""

from __future__ import annotations

from handlers.health.families import (
    argo,
    automation,
    cloud_operators,
    cluster_api,
    cluster_fleets,
    compute,
    crossplane,
    databases,
    flux,
    gateway_api,
    kruise,
    kubernetes,
    messaging,
    networking,
    numaproj,
    observability,
    openshift,
    promoter,
    security,
    serverless,
    storage,
    three_scale,
)
from handlers.health.table import HealthTable

_FAMILIES = (
    argo,
    automation,
    cloud_operators,
    cluster_api,
    cluster_fleets,
    compute,
    crossplane,
    databases,
    flux,
    gateway_api,
    kruise,
    kubernetes,
    messaging,
    networking,
    numaproj,
    observability,
    openshift,
    promoter,
    security,
    serverless,
    storage,
    three_scale,
)

HEALTH_TABLE = HealthTable(family.KINDS for family in _FAMILIES)
