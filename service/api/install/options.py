"""What the person who installs an agent chooses. Pure."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import urlsplit

import msgspec

_USUAL_PORTS = frozenset({443, 6443, 80, 22, 4222, 6379})
"""Those that the chart's NetworkPolicy lets out."""


class Scope(StrEnum):
    CLUSTER = "cluster"
    NAMESPACE = "namespace"


class Feature(StrEnum):
    """Rights beyond reading: each takes what it needs and no more."""

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
    """In front of the images' names; empty: as published."""
    pull_secret: str = ""
    proxy: str = ""
    ca_secret: str = ""
    """A Secret with `ca.crt`: authorities to trust for the service."""
    features: frozenset[Feature] = frozenset({Feature.SYNC, Feature.LOGS, Feature.MANAGE})
    read_only: bool = False
    """The control plane may only look, whatever its people may do."""
    definitions: bool = True
    """Install Argo CD's definitions too; not beside an Argo CD that brings them."""

    @property
    def token_secret(self) -> str:
        """Made by hand, so that the token stands in no file."""
        return "gitops-agent-enrolment"

    @property
    def repository(self) -> str:
        return self.from_registry("gitops-house/agent")

    @property
    def limits(self) -> dict[str, str]:
        """The ConfigMap that the control plane cannot exceed."""
        if self.read_only:
            return {"readOnly": "true"}
        return {"namespaces": "*" if self.scope is Scope.CLUSTER else self.namespace}

    @property
    def ports(self) -> list[int]:
        """What has to be let out beyond the usual: the service's, the proxy's."""
        found = (urlsplit(url).port for url in (self.service_url, self.proxy) if url)
        return [port for port in found if port and port not in _USUAL_PORTS]

    def from_registry(self, image: str) -> str:
        return f"{self.registry.rstrip('/')}/{image}" if self.registry else image
