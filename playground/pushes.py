"""The webhook of a push as GitHub sends it: JSON, three headers, and an HMAC over the very bytes.

Pure: what a receiver must be able to verify, apart from who sends it.
Source: GitHub's "Webhook events and payloads" (push) and "Validating webhook deliveries".
"""

import datetime as dt
import hashlib
import hmac
from typing import Any

import msgspec
import orjson

from playground.gitstore import NOTHING, CommitSummary


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """Where a repository announces its pushes, and the secret that signs them."""

    url: str
    secret: str


class Push(msgspec.Struct, frozen=True, kw_only=True):
    """One reference that moved."""

    repository: str
    clone_url: str
    reference: str
    before: str
    after: str
    forced: bool = False
    commits: tuple[CommitSummary, ...] = ()


def payload(push: Push, default_branch: str) -> bytes:
    commits = [_commit(push, commit) for commit in push.commits]
    return orjson.dumps(
        {
            "ref": push.reference,
            "before": push.before,
            "after": push.after,
            "created": push.before == NOTHING,
            "deleted": push.after == NOTHING,
            "forced": push.forced,
            "repository": _repository(push, default_branch),
            "pusher": {"name": "playground", "email": "playground@localhost"},
            "commits": commits,
            "head_commit": commits[-1] if commits else None,
        }
    )


def headers(body: bytes, secret: str, delivery: str) -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/playground",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={digest}",
    }


def _repository(push: Push, default_branch: str) -> dict[str, Any]:
    owner, _, name = push.repository.rpartition("/")
    page = push.clone_url.removesuffix(".git")
    return {
        "id": int(hashlib.sha256(push.repository.encode()).hexdigest()[:8], 16),
        "name": name,
        "full_name": push.repository,
        "owner": {"name": owner, "login": owner},
        "private": False,
        "html_url": page,
        "url": page,
        "clone_url": push.clone_url,
        "default_branch": default_branch,
    }


def _commit(push: Push, commit: CommitSummary) -> dict[str, Any]:
    time = dt.datetime.fromtimestamp(commit.time, dt.UTC).isoformat()
    person = {"name": "Playground", "email": "playground@localhost"}
    return {
        "id": commit.id,
        "message": commit.message,
        "timestamp": time,
        "url": f"{push.clone_url.removesuffix('.git')}/commit/{commit.id}",
        "author": person,
        "committer": person,
        "added": commit.added,
        "modified": commit.modified,
        "removed": commit.removed,
    }
