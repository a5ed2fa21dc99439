"""The rows of this room in the table of the API."""

from __future__ import annotations

from service.history import drifts, environments, instances, services, timeline

ENDPOINTS = (
    *timeline.ENDPOINTS,
    *drifts.ENDPOINTS,
    *instances.ENDPOINTS,
    *services.ENDPOINTS,
    *environments.ENDPOINTS,
)
