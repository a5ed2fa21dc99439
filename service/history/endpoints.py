"""The rows that this room adds to the API's table."""

from __future__ import annotations

from service.api.endpoint import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = ()
