"""GitHub's webhooks: push, and ping which only says that the hook was set up.

Source: https://docs.github.com/webhooks/webhook-events-and-payloads#push. GitHub sends at most 2048
commits of a push, so a list of that length may be shortened.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.push import (
    Commit,
    MalformedPayloadError,
    Provider,
    Push,
    paths_of,
    revision,
    spellings,
)

EVENT_HEADER = "x-github-event"
DELIVERY_HEADER = "x-github-delivery"
SIGNATURE_HEADER = "x-hub-signature-256"
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
    commits: tuple[Commit, ...] = ()


def parse(headers: Mapping[str, str], body: bytes) -> Push | None:
    """The push in `body`; None for an event without commits. `headers` have lower-case names."""
    event = headers[EVENT_HEADER]
    if event != "push":
        return None
    payload = _decode(headers, body)
    repository = payload.repository
    urls = spellings(repository.clone_url, repository.ssh_url, repository.html_url)
    if not urls:
        raise MalformedPayloadError("`repository` has none of clone_url, ssh_url and html_url")
    return Push(
        provider=Provider.GITHUB,
        event=event,
        repositories=urls,
        ref=payload.ref,
        before=revision(payload.before),
        after=revision(payload.after),
        paths=_paths(payload),
        delivery=headers.get(DELIVERY_HEADER, ""),
        default_branch=repository.default_branch,
    )


def _decode(headers: Mapping[str, str], body: bytes) -> _Payload:
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise MalformedPayloadError(
            f"the content type is {kind}; set the webhook's content type to application/json"
        )
    try:
        return msgspec.json.decode(body, type=_Payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise MalformedPayloadError(f"not a GitHub push: {e}") from e


def _paths(payload: _Payload) -> tuple[str, ...] | None:
    known = revision(payload.before) and revision(payload.after) and not payload.forced
    if not known or not 0 < len(payload.commits) < MOST_COMMITS:
        return None
    return paths_of(payload.commits)
