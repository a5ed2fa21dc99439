"""GitHub tells of packages by `package` and `registry_package`, signed as its pushes are.

Source: https://docs.github.com/webhooks/webhook-events-and-payloads#package. Only containers count,
which is what charts and artifacts of `ghcr.io` are.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, body_signature
from agent.ingress.webhooks.providers.github import (
    DELIVERY_HEADER,
    EVENT_HEADER,
    SIGNATURE_PREFIX,
)
from agent.ingress.webhooks.push import MalformedPayloadError, Push, decoded
from agent.ingress.webhooks.registry_push import PushedTag, registry_push

NAME = "ghcr"
TITLE = "GitHub Container Registry"
_EVENTS = frozenset({"package", "registry_package"})
_HOST = "ghcr.io"


class _Owner(msgspec.Struct, frozen=True, kw_only=True):
    login: str


class _Tag(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    digest: str = ""


class _Container(msgspec.Struct, frozen=True, kw_only=True):
    tag: _Tag = _Tag()


class _Version(msgspec.Struct, frozen=True, kw_only=True):
    container_metadata: _Container | None = None


class _Package(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    owner: _Owner
    package_type: str = ""
    package_version: _Version | None = None


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    action: str = ""
    package: _Package | None = None
    registry_package: _Package | None = None


def parse(headers: Mapping[str, str], body: bytes) -> Push | None:
    """Read the push in `body`; None for another event than a published container with a tag."""
    payload = decoded(body, _Payload, TITLE)
    package = payload.package or payload.registry_package
    if package is None:
        raise MalformedPayloadError("expected `package` or `registry_package`")
    if payload.action != "published" or package.package_type.lower() != "container":
        return None
    container = package.package_version and package.package_version.container_metadata
    tag = container.tag if container else _Tag()
    return registry_push(
        [
            PushedTag(
                repository=f"{_HOST}/{package.owner.login}/{package.name}".lower(),
                tag=tag.name,
                digest=tag.digest,
            )
        ],
        provider=NAME,
        event=headers[EVENT_HEADER],
        delivery=headers.get(DELIVERY_HEADER, ""),
    )


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header=EVENT_HEADER,
    events=_EVENTS,
    proof_header="x-hub-signature-256",
    secret_keys=("webhook.github.secret",),
    verify=body_signature(prefix=SIGNATURE_PREFIX),
    parse=parse,
)
