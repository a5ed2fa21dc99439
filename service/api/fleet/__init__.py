"""The API of the fleet: every environment and region at a glance."""

from service.api.fleet import (
    fleet,
)

ENDPOINTS = (*fleet.ENDPOINTS,)

__all__ = ["ENDPOINTS"]
