"""An OCI registry sends what was pushed to it: the CNCF's `distribution`, and Azure's registries.

Source: https://distribution.github.io/distribution/about/notifications. A delivery holds events of
which some are pushes of tags; Azure sends one such event by itself, without the media type, so its
address is `/api/webhook/oci`. Both can send the header Authorization, which is the proof. The host
is the one under which the registry was pushed to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, bearer_token
from agent.ingress.webhooks.push import MalformedPayloadError, Push, decoded
from agent.ingress.webhooks.registry_push import PushedTag, registry_push

NAME = "oci"
TITLE = "OCI registry"
_EVENTS = frozenset(
    f"application/vnd.docker.distribution.events.v{number}+json" for number in (1, 2)
)


class _Target(msgspec.Struct, frozen=True, kw_only=True):
    repository: str = ""
    tag: str = ""
    digest: str = ""


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    host: str = ""


class RegistryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a registry, as `distribution` and Azure write it."""

    action: str = ""
    id: str = ""
    target: _Target = _Target()
    request: _Request = _Request()


class _Envelope(RegistryEvent, frozen=True, kw_only=True):
    """Several events, or itself one."""

    events: tuple[RegistryEvent, ...] | None = None


def parse(_headers: Mapping[str, str], body: bytes) -> Push | None:
    """Read the push in `body`; None where no tag was pushed."""
    payload = decoded(body, _Envelope, TITLE)
    if payload.events is None and not payload.action:
        raise MalformedPayloadError("expected `events`, or an event with an `action`")
    return registry_events(payload.events or (payload,), provider=NAME)


def registry_events(
    events: Iterable[RegistryEvent], *, provider: str, delivery: str = ""
) -> Push | None:
    """Make the push of those events that pushed a tag; None where none of them did."""
    pushes = [it for it in events if it.action == "push" and it.target.tag]
    if not all(it.request.host and it.target.repository for it in pushes):
        raise MalformedPayloadError("expected request.host and target.repository of a push")
    return registry_push(
        [
            PushedTag(
                repository=f"{it.request.host}/{it.target.repository}",
                tag=it.target.tag,
                digest=it.target.digest,
            )
            for it in pushes
        ],
        provider=provider,
        event="push",
        delivery=delivery or (pushes[0].id if pushes else ""),
    )


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header="content-type",
    events=_EVENTS,
    names_event=False,
    proof_header="authorization",
    secret_keys=("webhook.oci.secret",),
    verify=bearer_token,
    parse=parse,
)
