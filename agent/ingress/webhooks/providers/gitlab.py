"""GitLab sends push and tag hooks of projects, and system hooks alike; each carries a token.

Source: https://docs.gitlab.com/user/project/integrations/webhook_events/. GitLab sends at most 20
commits and says in `total_commits_count` how many there were.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, header_token
from agent.ingress.webhooks.push import (
    MalformedPayloadError,
    Push,
    PushedCommit,
    decoded,
    paths_of,
    revision,
    spellings,
)

NAME = "gitlab"
TITLE = "GitLab"
EVENT_HEADER = "x-gitlab-event"
DELIVERY_HEADERS = ("idempotency-key", "x-gitlab-event-uuid")

_PUSHES = frozenset({"push", "tag_push"})
_PUSH_HOOKS = frozenset({"push hook", "tag push hook"})


class _Project(msgspec.Struct, frozen=True, kw_only=True):
    git_http_url: str = ""
    git_ssh_url: str = ""
    web_url: str = ""
    default_branch: str | None = None


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    object_kind: str = ""
    event_name: str = ""


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    ref: str
    project: _Project
    before: str = ""
    after: str = ""
    commits: tuple[PushedCommit, ...] = ()
    total_commits_count: int = 0


def parse(headers: Mapping[str, str], body: bytes) -> Push | None:
    """The push in `body`; None for an event without commits. `headers` have lower-case names."""
    event = _event(body)
    if event not in _PUSHES:
        if headers.get(EVENT_HEADER, "").lower() in _PUSH_HOOKS:
            raise MalformedPayloadError("not a GitLab push: `object_kind` is not push or tag_push")
        return None
    payload = decoded(body, _Payload, TITLE)
    project = payload.project
    urls = spellings(project.git_http_url, project.git_ssh_url, project.web_url)
    if not urls:
        raise MalformedPayloadError("`project` has none of git_http_url, git_ssh_url and web_url")
    return Push(
        provider=NAME,
        event=event,
        repositories=urls,
        ref=payload.ref,
        before=revision(payload.before),
        after=revision(payload.after),
        paths=_paths(payload),
        delivery=next((headers[name] for name in DELIVERY_HEADERS if name in headers), ""),
        default_branch=project.default_branch or "",
    )


def _event(body: bytes) -> str:
    named = decoded(body, _Event, TITLE)
    return named.object_kind or named.event_name


def _paths(payload: _Payload) -> tuple[str, ...] | None:
    known = revision(payload.before) and revision(payload.after)
    if not known or not payload.commits or payload.total_commits_count > len(payload.commits):
        return None
    return paths_of(payload.commits)


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header=EVENT_HEADER,
    proof_header="x-gitlab-token",
    secret_keys=("webhook.gitlab.secret",),
    verify=header_token,
    parse=parse,
)
