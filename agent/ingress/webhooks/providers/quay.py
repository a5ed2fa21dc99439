"""Quay sends the tags that were pushed; it signs nothing, so the token of the address is its proof.

Source: https://docs.quay.io/guides/notifications.html, the event `repo_push`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import TOKEN_HEADER, WebhookProvider, header_token
from agent.ingress.webhooks.push import Push, decoded
from agent.ingress.webhooks.registry_push import PushedTag, registry_push

NAME = "quay"
TITLE = "Quay"


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    docker_url: str
    updated_tags: tuple[str, ...] | None = None
    """Missing in other events than a push."""


def parse(_headers: Mapping[str, str], body: bytes) -> Push | None:
    """Read the push in `body`; None for another event."""
    payload = decoded(body, _Payload, TITLE)
    pushed = [
        PushedTag(repository=payload.docker_url, tag=tag) for tag in payload.updated_tags or ()
    ]
    return registry_push(pushed, provider=NAME, event="repo_push")


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    names_event=False,
    proof_header=TOKEN_HEADER,
    secret_keys=("webhook.quay.secret",),
    verify=header_token,
    parse=parse,
)
