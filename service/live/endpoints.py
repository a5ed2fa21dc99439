"""The rows that this room adds to the API's table."""

from __future__ import annotations

from service.live import subscribe, webhooks

ENDPOINTS = (*subscribe.ENDPOINTS, *webhooks.ENDPOINTS)
