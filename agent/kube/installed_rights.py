"""Why a write was forbidden, in terms of how the agent was installed. Pure.

The API server names the right that is missing; the agent adds the profile of rights that it was
installed with, and the value of the chart that would grant it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.kube.errors import ForbiddenError
from agent.settings import RightsProfile
from handlers.ports import ApplyRefusedError

_RIGHT = re.compile(
    r'cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
_ESCALATION = "attempting to grant RBAC permissions not currently held"
_ROLES = {
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
}


@dataclass(frozen=True, slots=True)
class InstalledRights:
    """The profile of the installation; empty where nobody named one, and nothing is explained."""

    profile: RightsProfile = ""
    namespaces: tuple[str, ...] = ()
    """The destinations, where the profile holds in these only."""

    def explained(self, error: ApplyRefusedError) -> ApplyRefusedError:
        """The same error, naming right, profile and remedy before the API server's own words."""
        if not self.profile or not isinstance(error, ForbiddenError):
            return error
        reason = self._reason(error.message)
        if not reason:
            return error
        message = f"{reason}. The API server's words: {error.message}"
        return ForbiddenError(message, code=error.code, permanent=error.permanent)

    def _reason(self, message: str) -> str:
        if _ESCALATION in message:
            return (
                f"the agent (rights profile {self.profile!r}) can grant only rights that it holds"
                " itself: name what the role grants in rights.kinds of its chart, or have an"
                " administrator apply the role"
            )
        found = _RIGHT.search(message)
        if found is None:
            return ""
        group, resource, namespace = found["group"], found["resource"], found["namespace"]
        name = f"{resource}.{group}" if group else resource
        place = f"in namespace {namespace!r}" if namespace else "in the cluster"
        return (
            f"the agent has no right to {found['verb']} {name} {place}: its rights profile"
            f" {self.profile!r} does not grant it; {self._remedy(group, resource, namespace)}"
        )

    def _remedy(self, group: str, resource: str, namespace: str | None) -> str:
        kind = f"{{apiGroups: [{group!r}], resources: [{resource}]}}"
        if self.profile == "read-only":
            return "install it with destinations.write: true"
        if self.namespaces and namespace is None:
            return f"install it with destinations.scope: cluster and {kind} in rights.kinds"
        if self.namespaces and namespace not in self.namespaces:
            return f"name {namespace!r} in destinations.namespaces of its chart"
        if self.profile == "namespaced" and (group, resource) in _ROLES:
            return "install it with rights.roles: true"
        return f"name {kind} in rights.kinds of its chart"
