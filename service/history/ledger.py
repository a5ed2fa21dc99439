"""The drift ledger of one application: facts in order -> each drift with begin, end and how. Pure.

A drift is a difference that nobody committed: live differs although the rendered state is the one
that was live before. It ends *healed* (an automated sync undid it), *synced* (a sync by hand did),
*accepted* (a new commit says the same as the cluster), or *gone* (somebody undid it, or the
application is no more). A commit on its way to the cluster is no drift.

The fold looks only at time and content, so any order of arrival ends the same (see keep.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from bus.events import AppDeleted, Compared, OperationFinished
from bus.events.facts import DriftedObject
from bus.events.registry import wire_type
from bus.identity import NO_DIGEST, Digest, Revision
from bus.ids import derived_id
from bus.status import OperationPhase, SyncStatus
from service.history.said import Said

TYPES = tuple(wire_type(it) for it in (Compared, OperationFinished, AppDeleted))
"""What the ledger is made of."""
_OBJECTS, _NAME, _FIELDS, _PATH = 50, 700, 20, 200
"""What an agent may tell at most."""


class EndedHow(StrEnum):
    HEALED = "healed"
    SYNCED = "synced"
    ACCEPTED = "accepted"
    GONE = "gone"


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """`id`: of the object and the fact that told it first, so the same drift has one id."""

    id: str
    subject: str
    project: str
    object: str
    began_at: datetime
    fields: tuple[str, ...] = ()
    actor: str = ""
    ended_at: datetime | None = None
    ended_how: str = ""


class Deployed(msgspec.Struct, frozen=True, kw_only=True):
    """What was live: after an automated sync its digest is not told, its revision is enough."""

    revision: Revision
    digest: Digest = NO_DIGEST

    def is_rendered_by(self, fact: Compared) -> bool:
        same = self.digest in (NO_DIGEST, fact.digest) or not fact.digest
        return same and self.revision == fact.revision


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before the next fact. `by_hand`: when a sync by hand last succeeded."""

    deployed: Deployed | None = None
    by_hand: datetime | None = None
    open: Mapping[str, Drift] = {}


class Folded(msgspec.Struct, frozen=True, kw_only=True):
    standing: Standing
    drifts: tuple[Drift, ...] = ()
    """Those that ended, in order; those that last are `standing.open`."""

    @property
    def all(self) -> tuple[Drift, ...]:
        return (*self.drifts, *self.standing.open.values())


def fold(standing: Standing, facts: Iterable[Said]) -> Folded:
    folded = Folded(standing=standing)
    for one in sorted(facts, key=lambda it: it.order):
        folded = advance(folded, one)
    return folded


def advance(folded: Folded, one: Said) -> Folded:
    match one.fact:
        case Compared():
            return _compared(folded, one, one.fact)
        case OperationFinished(phase=OperationPhase.SUCCEEDED):
            return _synced(folded, one, one.fact)
        case AppDeleted():
            ended = _end(folded, one.time, folded.standing.open, EndedHow.GONE)
            return replace(ended, standing=Standing())
        case _:
            return folded


def _synced(folded: Folded, one: Said, fact: OperationFinished) -> Folded:
    """One by hand may have been partial or a dry run: what it did the next comparison tells."""
    if not fact.automated:
        return replace(folded, standing=replace(folded.standing, by_hand=one.time))
    ended = _end(folded, one.time, folded.standing.open, EndedHow.HEALED)
    deployed = Deployed(revision=fact.revision)
    return replace(ended, standing=replace(ended.standing, deployed=deployed))


def _compared(folded: Folded, one: Said, fact: Compared) -> Folded:
    standing = folded.standing
    if fact.status is SyncStatus.UNKNOWN:
        return folded
    over = standing.open.keys() - _differing(fact, standing)
    same = standing.deployed is not None and standing.deployed.is_rendered_by(fact)
    for name in sorted(over):
        how = _how(standing, standing.open[name], same=same)
        folded = _end(folded, one.time, (name,), how)
    if fact.status is SyncStatus.SYNCED:
        deployed = Deployed(revision=fact.revision, digest=fact.digest)
        return replace(folded, standing=replace(folded.standing, deployed=deployed))
    return _begin(folded, one, fact) if same else folded


def _differing(fact: Compared, standing: Standing) -> frozenset[str]:
    """Objects that may differ still: where the list is not complete, all that did."""
    complete = len(fact.drifted) >= fact.changed + fact.missing + fact.extra
    if fact.status is SyncStatus.SYNCED:
        return frozenset()
    return frozenset(fact.drifted) if complete else frozenset((*fact.drifted, *standing.open))


def _how(standing: Standing, drift: Drift, *, same: bool) -> EndedHow:
    if standing.by_hand is not None and standing.by_hand >= drift.began_at:
        return EndedHow.SYNCED
    return EndedHow.GONE if same else EndedHow.ACCEPTED


def _begin(folded: Folded, one: Said, fact: Compared) -> Folded:
    """New ones begin; those that last may have grown."""
    details = {it.object: it for it in fact.details}
    open_ = dict(folded.standing.open)
    for name in fact.drifted[:_OBJECTS]:
        known = open_.get(name) or _begun(one, name)
        open_[name] = _told_more(known, details.get(name))
    return replace(folded, standing=replace(folded.standing, open=open_))


def _begun(one: Said, name: str) -> Drift:
    return Drift(
        id=derived_id(f"drift {one.agent} {one.subject} {name} {one.id}"),
        subject=one.subject,
        project=one.project,
        object=name[:_NAME],
        began_at=one.time,
    )


def _told_more(drift: Drift, detail: DriftedObject | None) -> Drift:
    if detail is None:
        return drift
    told = (path[:_PATH] for path in (*drift.fields, *detail.fields))
    fields = tuple(dict.fromkeys(told))[:_FIELDS]
    return replace(drift, fields=fields, actor=drift.actor or detail.manager[:_PATH])


def _end(folded: Folded, time: datetime, names: Iterable[str], how: EndedHow) -> Folded:
    over = frozenset(names)
    standing = folded.standing
    ended = tuple(
        replace(drift, ended_at=time, ended_how=how.value)
        for name, drift in standing.open.items()
        if name in over
    )
    left = {name: drift for name, drift in standing.open.items() if name not in over}
    return replace(folded, drifts=folded.drifts + ended, standing=replace(standing, open=left))
