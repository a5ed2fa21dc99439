"""GitLab's webhooks: push and tag hooks of projects, and system hooks that carry the same payload.

Source: https://docs.gitlab.com/user/project/integrations/webhook_events/. GitLab sends at most 20
commits and says in `total_commits_count` how many there were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

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

EVENT_HEADER = "x-gitlab-event"
TOKEN_HEADER = "x-gitlab-token"  # noqa: S105  the name of a header
DELIVERY_HEADERS = ("idempotency-key", "x-gitlab-event-uuid")

_T = TypeVar("_T")
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
    commits: tuple[Commit, ...] = ()
    total_commits_count: int = 0


def parse(headers: Mapping[str, str], body: bytes) -> Push | None:
    """The push in `body`; None for an event without commits. `headers` have lower-case names."""
    event = _event(body)
    if event not in _PUSHES:
        if headers.get(EVENT_HEADER, "").lower() in _PUSH_HOOKS:
            raise MalformedPayloadError("not a GitLab push: `object_kind` is not push or tag_push")
        return None
    payload = _decode(body, _Payload)
    project = payload.project
    urls = spellings(project.git_http_url, project.git_ssh_url, project.web_url)
    if not urls:
        raise MalformedPayloadError("`project` has none of git_http_url, git_ssh_url and web_url")
    return Push(
        provider=Provider.GITLAB,
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
    named = _decode(body, _Event)
    return named.object_kind or named.event_name


def _decode(body: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise MalformedPayloadError(f"not a GitLab push: {e}") from e


def _paths(payload: _Payload) -> tuple[str, ...] | None:
    known = revision(payload.before) and revision(payload.after)
    if not known or not payload.commits or payload.total_commits_count > len(payload.commits):
        return None
    return paths_of(payload.commits)
