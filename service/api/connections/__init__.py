"""The API of connections: repositories, clusters, certificates and keys of the agents."""

from service.api.connections import (
    connections,
)

ENDPOINTS = (*connections.ENDPOINTS,)

__all__ = ["ENDPOINTS"]
