"""Who committed what: told when a revision was resolved, looked up for those who show it.

The fact stands in the timeline under its repository, so it is found by the index of subjects. A
revision that nobody pushed here (a rollback to an old commit) may have none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from sqlalchemy import select, tuple_

from bus.events import RevisionResolved
from bus.events.registry import wire_type
from bus.identity import RepositoryKey
from bus.repository_url import RepositoryUrlError
from service.api.call import Call
from service.api.endpoint import Answer
from service.store.tables import facts

RESOLVED = wire_type(RevisionResolved)


class Commit(Answer, frozen=True, kw_only=True):
    """Empty where it is not known; `message` is the first line, `author` a name."""

    id: str
    author: str
    message: str
    time: str


class At(msgspec.Struct, frozen=True):
    """A revision as one agent met it; `repository` is a URL, however it is spelt."""

    agent: str
    repository: str
    revision: str

    @property
    def subject(self) -> str:
        """As the fact names it; what is no address is in no fact."""
        try:
            return str(RepositoryKey.of(self.repository))
        except RepositoryUrlError:
            return self.repository


async def commits_of(call: Call, wanted: Collection[At]) -> Mapping[At, Commit]:
    """Each of `wanted`, known or not."""
    found = await _told(call, wanted)
    return {
        one: commit_of(found.get((one.agent, one.subject, one.revision), {}), one.revision)
        for one in wanted
    }


def commit_of(body: Mapping[str, Any], revision: str = "") -> Commit:
    """From the body of the fact; of one that an older agent wrote only the id."""
    said = body.get("commit")
    said = said if isinstance(said, Mapping) else {}
    return Commit(
        id=revision or str(body.get("revision") or ""),
        author=str(said.get("author") or ""),
        message=str(said.get("message") or ""),
        time=str(said.get("time") or ""),
    )


async def _told(
    call: Call, wanted: Collection[At]
) -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
    """Bodies by agent, subject and revision; the newest of each."""
    if not wanted:
        return {}
    places = {(one.agent, one.subject) for one in wanted}
    revision = facts.c.body["revision"].astext
    query = (
        select(facts.c.agent_id, facts.c.subject, facts.c.body)
        .where(facts.c.type == RESOLVED)
        .where(tuple_(facts.c.agent_id, facts.c.subject).in_(sorted(places)))
        .where(revision.in_(sorted({one.revision for one in wanted})))
        .order_by(facts.c.time)
    )
    rows = (await call.connection.execute(query)).all()
    return {(it.agent_id, it.subject, str(it.body["revision"])): it.body for it in rows}
