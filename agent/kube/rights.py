"""What may we do? The API server's own answer, before something fails for want of a right."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import orjson

from agent.kube.client import KubeClient

_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """One verb on one kind; `resource` is the plural; no namespace means everywhere."""

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


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
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
    """The user name that the API server knows us by (Kubernetes 1.28 and later)."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.create(_WHO, orjson.dumps(body))
    return msgspec.json.decode(answer, type=_WhoReview).status.user_info.username


async def may(client: KubeClient, right: Right) -> Verdict:
    answer = await client.create(_REVIEW, orjson.dumps(_question(right)))
    outcome = msgspec.json.decode(answer, type=_Review).status
    return Verdict(right=right, allowed=outcome.allowed, reason=outcome.reason)


async def missing(client: KubeClient, wanted: Iterable[Right]) -> tuple[Right, ...]:
    """Those of `wanted` that we do not have."""
    verdicts = [await may(client, right) for right in wanted]
    return tuple(verdict.right for verdict in verdicts if not verdict.allowed)


def _question(right: Right) -> dict[str, object]:
    attributes = {field: value for field, value in msgspec.structs.asdict(right).items() if value}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
