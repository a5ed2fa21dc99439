"""Harbor sends `PUSH_ARTIFACT` with its references; the header Authorization is its proof.

Source: https://goharbor.io/docs/main/working-with-projects/project-configuration/configure-webhooks.
Its deliveries have no header of their own, so what comes with an `Authorization` alone is taken for
Harbor's, as in Argo CD. Its CloudEvents are read by `cloud_events.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, bearer_token
from agent.ingress.webhooks.push import MalformedPayloadError, Push, decoded
from agent.ingress.webhooks.registry_push import of_reference, registry_push

NAME = "harbor"
TITLE = "Harbor"
_PUSHES = frozenset({"PUSH_ARTIFACT", "pushImage"})


class HarborResource(msgspec.Struct, frozen=True, kw_only=True):
    """One artifact; `resource_url` is its whole reference."""

    resource_url: str
    tag: str = ""
    digest: str = ""


class HarborEvent(msgspec.Struct, frozen=True, kw_only=True):
    resources: tuple[HarborResource, ...] = ()


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    event_data: HarborEvent = HarborEvent()


def parse(_headers: Mapping[str, str], body: bytes) -> Push | None:
    """Read the push in `body`; None for another event."""
    payload = decoded(body, _Payload, TITLE)
    if payload.type not in _PUSHES:
        return None
    return harbor_push(payload.event_data, provider=NAME, event=payload.type)


def harbor_push(
    found: HarborEvent, *, provider: str, event: str, delivery: str = ""
) -> Push | None:
    """Make the push of artifacts; a tag that begins with `sha256:` is none."""
    if not found.resources:
        raise MalformedPayloadError("expected the artifacts in `resources`")
    pushed = [
        of_reference(it.resource_url, "" if it.tag.startswith("sha256:") else it.tag, it.digest)
        for it in found.resources
    ]
    return registry_push(pushed, provider=provider, event=event, delivery=delivery)


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header="authorization",
    names_event=False,
    proof_header="authorization",
    secret_keys=("webhook.harbor.secret",),
    verify=bearer_token,
    parse=parse,
)
