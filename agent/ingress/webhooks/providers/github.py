"""GitHub sends `push`, and `ping` when a webhook is set up; it signs each body.

Source: https://docs.github.com/webhooks/webhook-events-and-payloads#push. GitHub sends at most 2048
commits of a push, so a list of that length may be shortened.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, body_signature
from agent.ingress.webhooks.push import (
    MalformedPayloadError,
    Push,
    PushedCommit,
    decoded,
    paths_of,
    revision,
    spellings,
)

NAME = "github"
TITLE = "GitHub"
EVENT_HEADER = "x-github-event"
DELIVERY_HEADER = "x-github-delivery"
SIGNATURE_PREFIX = "sha256="
MOST_COMMITS = 2048


class _Repository(msgspec.Struct, frozen=True, kw_only=True):
    clone_url: str = ""
    ssh_url: str = ""
    html_url: str = ""
    default_branch: str = ""


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    ref: str
    repository: _Repository
    before: str = ""
    after: str = ""
    forced: bool = False
    commits: tuple[PushedCommit, ...] = ()


def parse(headers: Mapping[str, str], body: bytes) -> Push | None:
    """The push in `body`; None for an event without commits. `headers` have lower-case names."""
    event = headers[EVENT_HEADER]
    if event != "push":
        return None
    _require_json(headers)
    payload = decoded(body, _Payload, TITLE)
    repository = payload.repository
    urls = spellings(repository.clone_url, repository.ssh_url, repository.html_url)
    if not urls:
        raise MalformedPayloadError("`repository` has none of clone_url, ssh_url and html_url")
    return Push(
        provider=NAME,
        event=event,
        repositories=urls,
        ref=payload.ref,
        before=revision(payload.before),
        after=revision(payload.after),
        paths=_paths(payload),
        delivery=headers.get(DELIVERY_HEADER, ""),
        default_branch=repository.default_branch,
    )


def _require_json(headers: Mapping[str, str]) -> None:
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise MalformedPayloadError(
            f"the content type is {kind}; set the webhook's content type to application/json"
        )


def _paths(payload: _Payload) -> tuple[str, ...] | None:
    known = revision(payload.before) and revision(payload.after) and not payload.forced
    if not known or not 0 < len(payload.commits) < MOST_COMMITS:
        return None
    return paths_of(payload.commits)


def sign(secret: bytes, body: bytes) -> str:
    """Return the `X-Hub-Signature-256` of `body`."""
    return SIGNATURE_PREFIX + hmac.new(secret, body, hashlib.sha256).hexdigest()


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header=EVENT_HEADER,
    proof_header="x-hub-signature-256",
    secret_keys=("webhook.github.secret",),
    verify=body_signature(prefix=SIGNATURE_PREFIX),
    parse=parse,
)
