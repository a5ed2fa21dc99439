"""Rights: what the API server permits the agent, and what its installation was meant to permit.

A probe asks the API server before a call fails for lack of a right. InstalledRights explains a
forbidden write: the API server names the right that is missing; the agent adds the profile of
rights that it was installed with, and the value of the chart that would grant it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import msgspec
import orjson

from agent.kube.client import KubeClient
from agent.kube.errors import ForbiddenError
from agent.settings.values import RightsProfile
from handlers.ports import ApplyRefusedError

_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_RIGHT = re.compile(
    r'cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
_ESCALATION = "attempting to grant RBAC permissions not currently held"
_ROLES = {
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
}


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """One verb on one kind; `resource` is the plural, an empty namespace means all."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        """`patch deployments.apps in namespace shop`."""
        part = f"/{self.subresource}" if self.subresource else ""
        what = f"{self.resource}{part}" + (f".{self.group}" if self.group else "")
        which = f" {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else " in all namespaces"
        return f"{self.verb} {what}{which}{where}"


class RightVerdict(msgspec.Struct, frozen=True, kw_only=True):
    right: Right
    allowed: bool
    reason: str = ""


class _Outcome(msgspec.Struct, frozen=True):
    allowed: bool = False
    reason: str = ""


class _Review(msgspec.Struct, frozen=True):
    status: _Outcome = _Outcome()


class _User(msgspec.Struct, frozen=True):
    username: str = ""


class _Who(msgspec.Struct, frozen=True, rename="camel"):
    user_info: _User = _User()


class _WhoReview(msgspec.Struct, frozen=True):
    status: _Who = _Who()


async def who_am_i(client: KubeClient) -> str:
    """Return the user name of this client at the API server (Kubernetes 1.28 and later)."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.create(_WHO, orjson.dumps(body))
    return msgspec.json.decode(answer, type=_WhoReview).status.user_info.username


async def may(client: KubeClient, right: Right) -> RightVerdict:
    answer = await client.create(_REVIEW, orjson.dumps(_question(right)))
    outcome = msgspec.json.decode(answer, type=_Review).status
    return RightVerdict(right=right, allowed=outcome.allowed, reason=outcome.reason)


async def missing(client: KubeClient, needed: Iterable[Right]) -> tuple[Right, ...]:
    """Return the rights of `needed` that this client does not have."""
    verdicts = [await may(client, right) for right in needed]
    return tuple(verdict.right for verdict in verdicts if not verdict.allowed)


def _question(right: Right) -> dict[str, object]:
    attributes = {field: value for field, value in msgspec.structs.asdict(right).items() if value}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


class ExplainedRights(Protocol):
    """Explains why a write was forbidden."""

    def explained(self, error: ApplyRefusedError) -> ApplyRefusedError: ...


@dataclass(frozen=True, slots=True)
class ImpersonatedRights:
    """ImpersonatedRights explains a write that was forbidden to an account of a project. Pure."""

    user: str

    def explained(self, error: ApplyRefusedError) -> ApplyRefusedError:
        if not isinstance(error, ForbiddenError):
            return error
        if "cannot impersonate" in error.message:
            reason = (
                f"the agent may not act as {self.user}: name the account in rights.impersonate of "
                "its chart"
            )
        else:
            reason = (
                f"the AppProject has its syncs made as {self.user} (spec.destinationServiceAccounts"
                "), which lacks a right: bind a Role with it to the account"
            )
        message = f"{reason}. The API server's words: {error.message}"
        return ForbiddenError(message, code=error.code, permanent=error.permanent)


@dataclass(frozen=True, slots=True)
class InstalledRights:
    """InstalledRights explains a forbidden write by the profile of the installation. Pure.

    The API server names the right that is missing; the agent adds the profile of rights that it
    was installed with, and the value of the chart that would grant it.

    The profile of the installation; without one nothing is explained.
    """

    profile: RightsProfile = ""
    namespaces: tuple[str, ...] = ()
    """The destinations, where the profile holds in these only."""

    def explained(self, error: ApplyRefusedError) -> ApplyRefusedError:
        """Put right, profile and remedy before the API server's message of the error."""
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
