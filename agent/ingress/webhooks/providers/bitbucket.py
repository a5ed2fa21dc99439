"""Bitbucket Cloud sends `repo:push` with all changed refs; the UUID of the webhook is its proof.

Source: https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/#Push. A payload names no
files and no default branch, and gives the repository as a web page only.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence

import msgspec

from agent.ingress.webhooks.provider import BodyCheck, NoBodyCheck, WebhookProvider
from agent.ingress.webhooks.push import (
    MalformedPayloadError,
    Push,
    RefUpdate,
    decoded,
    revision,
    spellings,
)

NAME = "bitbucket"
TITLE = "Bitbucket Cloud"
EVENT_HEADER = "x-event-key"
UUID_HEADER = "x-hook-uuid"
DELIVERY_HEADER = "x-request-uuid"
_REFS = {"branch": "refs/heads/", "named_branch": "refs/heads/", "tag": "refs/tags/"}


class _Target(msgspec.Struct, frozen=True, kw_only=True):
    hash: str = ""


class _Reference(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    type: str
    target: _Target = _Target()


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    new: _Reference | None = None
    old: _Reference | None = None


class _Changes(msgspec.Struct, frozen=True, kw_only=True):
    changes: tuple[_Change, ...]


class _Link(msgspec.Struct, frozen=True, kw_only=True):
    href: str = ""


class _Links(msgspec.Struct, frozen=True, kw_only=True):
    html: _Link = _Link()


class _Repository(msgspec.Struct, frozen=True, kw_only=True):
    links: _Links


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    push: _Changes
    repository: _Repository


def parse(headers: Mapping[str, str], body: bytes) -> Push | None:
    """The push in `body`; None for an event without commits. `headers` have lower-case names."""
    event = headers[EVENT_HEADER]
    if event != "repo:push":
        return None
    payload = decoded(body, _Payload, TITLE)
    urls = spellings(payload.repository.links.html.href)
    updates = [_update(one) for one in payload.push.changes]
    if not urls or not updates:
        raise MalformedPayloadError("expected repository.links.html.href and push.changes")
    return Push.of_updates(
        updates,
        provider=NAME,
        event=event,
        repositories=urls,
        delivery=headers.get(DELIVERY_HEADER, ""),
    )


def _update(change: _Change) -> RefUpdate:
    named = change.new or change.old
    if named is None or named.type not in _REFS:
        raise MalformedPayloadError("a change has neither a branch nor a tag as `new` or `old`")
    before = revision(change.old.target.hash) if change.old else revision("")
    after = revision(change.new.target.hash) if change.new else revision("")
    return RefUpdate(ref=_REFS[named.type] + named.name, before=before, after=after)


def uuid(value: str, secrets: Sequence[bytes]) -> BodyCheck | None:
    """Verify by the webhook's UUID, which both sides may write with braces."""
    (secret,) = secrets
    written = value.encode("utf-8", "surrogateescape")
    same = hmac.compare_digest(written.strip(b"{}"), secret.strip(b"{}"))
    return NoBodyCheck() if same else None


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header=EVENT_HEADER,
    marker_header=UUID_HEADER,
    proof_header=UUID_HEADER,
    secret_keys=("webhook.bitbucket.uuid",),
    verify=uuid,
    parse=parse,
)
