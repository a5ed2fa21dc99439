"""Bitbucket Data Center sends `repo:refs_changed` with all changed refs, and signs each body.

Source: https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html. A payload
names no files and no default branch. The path of a clone over HTTP begins with `/scm`, that of SSH
does not, so both links are given.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, body_signature
from agent.ingress.webhooks.push import (
    MalformedPayloadError,
    Push,
    RefUpdate,
    decoded,
    revision,
    spellings,
)

NAME = "bitbucket-server"
TITLE = "Bitbucket Data Center"
EVENT_HEADER = "x-event-key"
DELIVERY_HEADER = "x-request-id"


class _Reference(msgspec.Struct, frozen=True, kw_only=True):
    id: str


class _Change(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    ref: _Reference
    from_hash: str = ""
    to_hash: str = ""


class _Link(msgspec.Struct, frozen=True, kw_only=True):
    href: str = ""


class _Links(msgspec.Struct, frozen=True, kw_only=True):
    clone: tuple[_Link, ...] = ()


class _Repository(msgspec.Struct, frozen=True, kw_only=True):
    links: _Links


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    repository: _Repository
    changes: tuple[_Change, ...]


def parse(headers: Mapping[str, str], body: bytes) -> Push | None:
    """The push in `body`; None for an event without commits. `headers` have lower-case names."""
    event = headers[EVENT_HEADER]
    if event != "repo:refs_changed":
        return None
    payload = decoded(body, _Payload, TITLE)
    urls = spellings(*(link.href for link in payload.repository.links.clone))
    if not urls or not payload.changes:
        raise MalformedPayloadError("expected repository.links.clone and changes")
    return Push.of_updates(
        (
            RefUpdate(ref=one.ref.id, before=revision(one.from_hash), after=revision(one.to_hash))
            for one in payload.changes
        ),
        provider=NAME,
        event=event,
        repositories=urls,
        delivery=headers.get(DELIVERY_HEADER, ""),
    )


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header=EVENT_HEADER,
    proof_header="x-hub-signature",
    secret_keys=("webhook.bitbucketserver.secret",),
    verify=body_signature(prefix="sha256="),
    parse=parse,
)
