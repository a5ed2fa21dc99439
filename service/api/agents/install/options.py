"""Options that a person chooses to install an agent, and how they go together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from urllib.parse import urlsplit

import msgspec

from service.api.agents.install.chart_copy import managed

_USUAL_PORTS = frozenset({443, 6443, 80, 22, 4222, 6379})
"""Those that the chart's NetworkPolicy lets out."""


class InstallScope(StrEnum):
    """Where the agent may deploy."""

    CLUSTER = "cluster"
    NAMESPACE = "namespace"
    """In one namespace, which is not the agent's own."""


class RightsProfile(StrEnum):
    """Which kinds the agent may deploy; the lists are the chart's."""

    NAMESPACED = "namespaced"
    CLUSTER = "cluster"
    KINDS = "kinds"
    """Those of `InstallOptions.kinds`, and no other."""


class KindName(msgspec.Struct, frozen=True, order=True):
    """A kind by its plural and group, as RBAC names it."""

    group: str
    plural: str

    @classmethod
    def parse(cls, text: str) -> KindName:
        """Read `certificates.cert-manager.io`, or a plural alone for a kind of the core group."""
        plural, _, group = text.partition(".")
        return cls(group, plural)


class InstallFeature(StrEnum):
    """Rights beyond reading: each takes what it needs and no more."""

    SYNC = "sync"
    """Apply and prune what is in Git."""
    LOGS = "logs"
    """Read pod logs."""
    MANAGE = "manage"
    """Create and delete Applications, projects and connections from the dashboard."""
    ROLES = "roles"
    """Apply Roles and RoleBindings that grant no more than the agent holds."""
    CREATE_NAMESPACES = "create-namespaces"


class InstallOptions(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    agent: str
    service_url: str
    version: str
    namespace: str = "argocd"
    scope: InstallScope = InstallScope.CLUSTER
    destination: str = ""
    """With `InstallScope.NAMESPACE`: the namespace of the workloads."""
    profile: RightsProfile = RightsProfile.NAMESPACED
    kinds: tuple[KindName, ...] = ()
    """Beside those of the profile, as custom resources."""
    registry: str = ""
    """In front of the images' names; empty: as published."""
    pull_secret: str = ""
    proxy: str = ""
    ca_secret: str = ""
    """A Secret with `ca.crt`: authorities to trust for the service."""
    features: frozenset[InstallFeature] = frozenset(
        {InstallFeature.SYNC, InstallFeature.LOGS, InstallFeature.MANAGE}
    )
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
        return self.from_registry("plumbline/agent")

    @property
    def limits(self) -> dict[str, str]:
        """The ConfigMap that the control plane cannot exceed."""
        if self.read_only:
            return {"readOnly": "true"}
        return {
            "namespaces": "*" if self.scope is InstallScope.CLUSTER else self.destination,
            "objectKinds": "*" if self._writes_roles else "*, !Role, !RoleBinding",
            "clusterScoped": "true" if self._writes_cluster_scoped else "false",
        }

    @property
    def managed(self) -> list[dict[str, list[str]]]:
        """Kinds that the agent may write, as `{apiGroups, resources}`."""
        return [*self._of_profile, *self.chosen_kinds]

    @property
    def chosen_kinds(self) -> list[dict[str, list[str]]]:
        return [{"apiGroups": [it.group], "resources": [it.plural]} for it in self.kinds]

    @property
    def problem(self) -> tuple[str, str]:
        """The option that does not go with the others and what is expected; empty for none."""
        if self.scope is InstallScope.NAMESPACE and self.destination in ("", self.namespace):
            return "destination", "expected the workloads' namespace, which is not the agent's own"
        if self.scope is InstallScope.NAMESPACE and self.profile is RightsProfile.CLUSTER:
            return "profile", "expected the scope cluster: a namespace has no cluster-scoped kinds"
        if self.profile is RightsProfile.KINDS and not self.kinds:
            return "kinds", "expected at least one, such as persistentvolumes"
        return "", ""

    @property
    def roles(self) -> bool:
        """Whether the profile `namespaced` is widened by Roles and RoleBindings."""
        return self.profile is RightsProfile.NAMESPACED and InstallFeature.ROLES in self.features

    @property
    def _of_profile(self) -> list[dict[str, list[str]]]:
        if self.profile is RightsProfile.KINDS:
            return []
        return managed("roles" if self.roles else self.profile)

    @property
    def _writes_roles(self) -> bool:
        return bool(_ROLES & set(_kinds(self.managed)))

    @property
    def _writes_cluster_scoped(self) -> bool:
        """Whether a kind may be without a namespace: a chosen one whose scope is not known may."""
        within = set(_kinds(managed("roles")))
        return self.scope is InstallScope.CLUSTER and not set(_kinds(self.managed)) <= within

    @property
    def ports(self) -> list[int]:
        """What has to be let out beyond the usual: the service's, the proxy's."""
        found = (urlsplit(url).port for url in (self.service_url, self.proxy) if url)
        return [port for port in found if port and port not in _USUAL_PORTS]

    def from_registry(self, image: str) -> str:
        return f"{self.registry.rstrip('/')}/{image}" if self.registry else image


_ROLES = {KindName("rbac.authorization.k8s.io", plural) for plural in ("roles", "rolebindings")}


def _kinds(rules: Iterable[dict[str, list[str]]]) -> Iterator[KindName]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for plural in rule["resources"]:
                yield KindName(group, plural)
