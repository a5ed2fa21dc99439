"""Gitea, Forgejo and Gogs send `push`, and sign each body; the signature has no prefix.

All three send the headers of Gogs, and the first two those of GitHub and of their own beside them;
Argo CD knows them by `webhook.gogs.secret`. A list of commits may be shortened without a word, so
the paths of a push are not believed. Source: https://docs.gitea.com/usage/webhooks.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, body_signature
from agent.ingress.webhooks.push import (
    MalformedPayloadError,
    Push,
    decoded,
    revision,
    spellings,
)

NAME = "gitea"
TITLE = "Gitea"
EVENT_HEADER = "x-gogs-event"
DELIVERY_HEADER = "x-gogs-delivery"


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


def parse(headers: Mapping[str, str], body: bytes) -> Push | None:
    """The push in `body`; None for an event without commits. `headers` have lower-case names."""
    event = headers[EVENT_HEADER]
    if event != "push":
        return None
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
        delivery=headers.get(DELIVERY_HEADER, ""),
        default_branch=repository.default_branch,
    )


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header=EVENT_HEADER,
    proof_header="x-gogs-signature",
    secret_keys=("webhook.gogs.secret",),
    verify=body_signature(),
    parse=parse,
)
