"""The API of events: the stream of changes, and the webhooks that receive them."""

from service.api.events import (
    deliveries,
    events,
    webhooks,
)

ENDPOINTS = (
    *events.ENDPOINTS,
    *webhooks.ENDPOINTS,
    *deliveries.ENDPOINTS,
)

__all__ = ["ENDPOINTS"]
