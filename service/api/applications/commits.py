"""Commits of revisions, looked up in the facts that agents reported when they resolved them.

The fact is recorded under its repository, so the index of subjects finds it. A revision that was
never pushed here (a rollback to an old commit) may have none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from sqlalchemy import select, tuple_

from bus.events import RevisionResolved
from bus.events.event import wire_type
from bus.identity import RepositoryKey
from bus.repository_url import RepositoryUrlError
from service.http.call import ApiCall
from service.http.endpoint import ResponseModel
from service.store.tables import facts

RESOLVED = wire_type(RevisionResolved)


class CommitInfo(ResponseModel, frozen=True, kw_only=True):
    """Empty where it is not known; `message` is the first line, `author` a name."""

    id: str
    author: str
    message: str
    time: str


class CommitKey(msgspec.Struct, frozen=True):
    """A revision as one agent met it; `repository` is a URL, however it is spelt."""

    agent: str
    repository: str
    revision: str

    @property
    def subject(self) -> str:
        """Name the repository as the fact does; what is no address is in no fact."""
        try:
            return str(RepositoryKey.of(self.repository))
        except RepositoryUrlError:
            return self.repository


async def commits_of(call: ApiCall, keys: Collection[CommitKey]) -> Mapping[CommitKey, CommitInfo]:
    """Each of `keys`, known or not."""
    found = await _reported_bodies(call, keys)
    return {
        one: commit_of(found.get((one.agent, one.subject, one.revision), {}), one.revision)
        for one in keys
    }


def commit_of(body: Mapping[str, Any], revision: str = "") -> CommitInfo:
    """Read the commit in the body of a fact; an older agent's fact has only the id."""
    commit = body.get("commit")
    commit = commit if isinstance(commit, Mapping) else {}
    return CommitInfo(
        id=revision or str(body.get("revision") or ""),
        author=str(commit.get("author") or ""),
        message=str(commit.get("message") or ""),
        time=str(commit.get("time") or ""),
    )


def commit_in(reported: Mapping[str, Any], known: CommitInfo) -> CommitInfo:
    """`known`, or what the application's agent read in its mirror where no fact told of it."""
    if known.author or known.message or known.time:
        return known
    return commit_of({"commit": reported.get(known.id)}, known.id)


async def _reported_bodies(
    call: ApiCall, keys: Collection[CommitKey]
) -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
    """Bodies by agent, subject and revision; the newest of each."""
    if not keys:
        return {}
    subjects = {(one.agent, one.subject) for one in keys}
    revision = facts.c.body["revision"].astext
    query = (
        select(facts.c.agent_id, facts.c.subject, facts.c.body)
        .where(facts.c.type == RESOLVED)
        .where(tuple_(facts.c.agent_id, facts.c.subject).in_(sorted(subjects)))
        .where(revision.in_(sorted({one.revision for one in keys})))
        .order_by(facts.c.time)
    )
    rows = (await call.connection.execute(query)).all()
    return {(it.agent_id, it.subject, str(it.body["revision"])): it.body for it in rows}
