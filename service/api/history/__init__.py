"""The API of history: the timeline, the drift ledger, and what ran where."""

from service.api.history import (
    drifts,
    environments,
    fleet_at_time,
    instances,
    services,
    timeline,
)

ENDPOINTS = (
    *timeline.ENDPOINTS,
    *fleet_at_time.ENDPOINTS,
    *drifts.ENDPOINTS,
    *instances.ENDPOINTS,
    *services.ENDPOINTS,
    *environments.ENDPOINTS,
)

__all__ = ["ENDPOINTS"]
