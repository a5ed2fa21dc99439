"""The API of agents: their list, their changes, their recovery and their installation."""

from service.api.agents import (
    agents,
    changes,
    install_manifest,
    recovery,
)

ENDPOINTS = (
    *agents.ENDPOINTS,
    *recovery.ENDPOINTS,
    *changes.ENDPOINTS,
    *install_manifest.ENDPOINTS,
)

__all__ = ["ENDPOINTS"]
