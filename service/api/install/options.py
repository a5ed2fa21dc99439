"""What the person who installs an agent chooses. Pure."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Scope(StrEnum):
    CLUSTER = "cluster"
    NAMESPACE = "namespace"


class Feature(StrEnum):
    """Rights beyond reading and applying: each takes what it needs and no more."""

    SYNC = "sync"
    """Apply and prune what is in Git."""
    LOGS = "logs"
    """Read pod logs."""
    MANAGE = "manage"
    """Create and delete Applications, projects and connections from the dashboard."""
    CREATE_NAMESPACES = "create-namespaces"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    agent: str
    service_url: str
    version: str
    namespace: str = "argocd"
    scope: Scope = Scope.CLUSTER
    registry: str = ""
    """In front of the image's name; empty: as published."""
    pull_secret: str = ""
    proxy: str = ""
    ca_secret: str = ""
    """A Secret with `ca.crt`: authorities to trust for the service."""
    features: frozenset[Feature] = frozenset({Feature.SYNC, Feature.LOGS, Feature.MANAGE})

    @property
    def name(self) -> str:
        return "gitops-agent"

    @property
    def token_secret(self) -> str:
        """Made by hand, so that the token stands in no file."""
        return "gitops-agent-enrolment"

    @property
    def image(self) -> str:
        prefix = f"{self.registry.rstrip('/')}/" if self.registry else ""
        return f"{prefix}gitops-house/agent:{self.version}"
