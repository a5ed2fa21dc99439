"""The labels and annotations of plumbline on Kubernetes objects, and their former names.

All of them belong to one domain. A former name is read for one version, so that an upgrade neither
loses what an older agent wrote nor asks anybody to relabel objects on the same day; only the
present name is ever written. The annotations of Argo CD are not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataKey:
    """The name of one label or annotation."""

    name: str
    former: str

    @property
    def names(self) -> tuple[str, str]:
        """The present name first."""
        return self.name, self.former

    def value(self, metadata: Mapping[str, str]) -> str:
        """Read the key from labels or annotations; empty if neither name is there."""
        return next(iter(self.values(metadata)), "")

    def values(self, metadata: Mapping[str, str]) -> tuple[str, ...]:
        """Read the values of both names, as far as they are there, the present one first."""
        return tuple(metadata[name] for name in self.names if name in metadata)


SERVICE = MetadataKey(name="plumbline.dev/service", former="gitops.house/service")
ENVIRONMENT = MetadataKey(name="plumbline.dev/environment", former="gitops.house/environment")
CREDENTIAL = MetadataKey(name="plumbline.dev/credential", former="gitops-house.io/credential")
CREDENTIAL_URLS = MetadataKey(
    name="plumbline.dev/credential-urls", former="gitops-house.io/credential-urls"
)
COMMANDS = MetadataKey(name="plumbline.dev/commands", former="gitops-house.io/commands")
PENDING_FACTS = MetadataKey(name="plumbline.dev/pending-facts", former="gitops-house.io/said")
DEPLOYED_TO = "plumbline.dev/deployed-to"
"""The cluster that an Application was deployed to: UID and server. It never had another name."""
SHARDS_TABLE = "plumbline.dev/shards"
"""On the agent's Lease: which replica holds which shard. It never had another name."""

AGENT_RECORDS = frozenset({*COMMANDS.names, *PENDING_FACTS.names, DEPLOYED_TO})
"""Annotations in which the agent keeps records of an Application: nobody else edits them."""
