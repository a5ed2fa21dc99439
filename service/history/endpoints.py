"""The rows that this room adds to the API's table."""

from __future__ import annotations

from service.history import drifts, places, timeline

ENDPOINTS = (*timeline.ENDPOINTS, *drifts.ENDPOINTS, *places.ENDPOINTS)
