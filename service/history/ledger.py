"""The drift ledger of one application: facts in order -> drifts with begin and end. Pure.

A drift is a difference that nobody committed: live differs although the rendered state is the one
that was live before. It ends *healed* (an automated sync undid it), *synced* (a sync by hand did),
*accepted* (a new commit says the same as the cluster), or *gone* (somebody undid it, or the
application is no more). A commit on its way to the cluster is no drift.

The fold looks only at time and content, so any order of arrival ends the same (ledger_writer.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from bus.events import AppDeleted, Compared, OperationFinished
from bus.events.event import wire_type
from bus.events.facts import DriftedObject
from bus.identity import NO_DIGEST, Digest, Revision, derived_id
from bus.status import OperationPhase, SyncStatus
from service.history.recorded_facts import RecordedFact

TYPES = tuple(wire_type(it) for it in (Compared, OperationFinished, AppDeleted))
"""What the ledger is made of."""
_OBJECTS, _NAME, _FIELDS, _PATH = 50, 700, 20, 200
"""What an agent may tell at most."""


class EndedHow(StrEnum):
    HEALED = "healed"
    SYNCED = "synced"
    ACCEPTED = "accepted"
    GONE = "gone"
    NOT_ENDED = ""
    """The drift lasts."""


class LedgerDrift(msgspec.Struct, frozen=True, kw_only=True):
    """`id`: of the object and the fact that told it first, so the same drift has one id."""

    id: str
    subject: str
    project: str
    object: str
    began_at: datetime
    fields: tuple[str, ...] = ()
    actor: str = ""
    ended_at: datetime | None = None
    ended_how: EndedHow = EndedHow.NOT_ENDED


class LiveDeployment(msgspec.Struct, frozen=True, kw_only=True):
    """What was live: after an automated sync its digest is not told, its revision is enough."""

    revision: Revision
    digest: Digest = NO_DIGEST

    def is_rendered_by(self, fact: Compared) -> bool:
        same = self.digest in (NO_DIGEST, fact.digest) or not fact.digest
        return same and self.revision == fact.revision


class LedgerState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before the next fact. `by_hand`: when a sync by hand last succeeded."""

    deployed: LiveDeployment | None = None
    by_hand: datetime | None = None
    open: Mapping[str, LedgerDrift] = {}


class FoldResult(msgspec.Struct, frozen=True, kw_only=True):
    state: LedgerState
    drifts: tuple[LedgerDrift, ...] = ()
    """Those that ended, in order; those that last are `standing.open`."""

    @property
    def all(self) -> tuple[LedgerDrift, ...]:
        return (*self.drifts, *self.state.open.values())


def fold(state: LedgerState, facts: Iterable[RecordedFact]) -> FoldResult:
    folded = FoldResult(state=state)
    for one in sorted(facts, key=lambda it: it.order):
        folded = advance(folded, one)
    return folded


def advance(folded: FoldResult, one: RecordedFact) -> FoldResult:
    match one.fact:
        case Compared():
            return _compared(folded, one, one.fact)
        case OperationFinished(phase=OperationPhase.SUCCEEDED):
            return _synced(folded, one, one.fact)
        case AppDeleted():
            ended = _end(folded, one.time, folded.state.open, EndedHow.GONE)
            return replace(ended, state=LedgerState())
        case _:
            return folded


def _synced(folded: FoldResult, one: RecordedFact, fact: OperationFinished) -> FoldResult:
    """One by hand may have been partial or a dry run: what it did the next comparison tells."""
    if not fact.automated:
        return replace(folded, state=replace(folded.state, by_hand=one.time))
    ended = _end(folded, one.time, folded.state.open, EndedHow.HEALED)
    deployed = LiveDeployment(revision=fact.revision)
    return replace(ended, state=replace(ended.state, deployed=deployed))


def _compared(folded: FoldResult, one: RecordedFact, fact: Compared) -> FoldResult:
    state = folded.state
    if fact.status is SyncStatus.UNKNOWN:
        return folded
    # First end what no longer differs; only then may a new drift begin, and only where the rendered
    # state is the one that was live: any other difference is a commit on its way.
    over = state.open.keys() - _differing(fact, state)
    same = state.deployed is not None and state.deployed.is_rendered_by(fact)
    for name in sorted(over):
        how = _how(state, state.open[name], same=same)
        folded = _end(folded, one.time, (name,), how)
    if fact.status is SyncStatus.SYNCED:
        deployed = LiveDeployment(revision=fact.revision, digest=fact.digest)
        return replace(folded, state=replace(folded.state, deployed=deployed))
    return _begin(folded, one, fact) if same else folded


def _differing(fact: Compared, state: LedgerState) -> frozenset[str]:
    """Objects that may differ still: where the list is not complete, all that did."""
    complete = len(fact.drifted) >= fact.changed + fact.missing + fact.extra
    if fact.status is SyncStatus.SYNCED:
        return frozenset()
    return frozenset(fact.drifted) if complete else frozenset((*fact.drifted, *state.open))


def _how(state: LedgerState, drift: LedgerDrift, *, same: bool) -> EndedHow:
    if state.by_hand is not None and state.by_hand >= drift.began_at:
        return EndedHow.SYNCED
    return EndedHow.GONE if same else EndedHow.ACCEPTED


def _begin(folded: FoldResult, one: RecordedFact, fact: Compared) -> FoldResult:
    """New ones begin; those that last may have grown."""
    details = {it.object: it for it in fact.details}
    open_ = dict(folded.state.open)
    for name in fact.drifted[:_OBJECTS]:
        known = open_.get(name) or _begun(one, name)
        open_[name] = _with_detail(known, details.get(name))
    return replace(folded, state=replace(folded.state, open=open_))


def _begun(one: RecordedFact, name: str) -> LedgerDrift:
    return LedgerDrift(
        id=derived_id(f"drift {one.agent} {one.subject} {name} {one.id}"),
        subject=one.subject,
        project=one.project,
        object=name[:_NAME],
        began_at=one.time,
    )


def _with_detail(drift: LedgerDrift, detail: DriftedObject | None) -> LedgerDrift:
    if detail is None:
        return drift
    paths = (path[:_PATH] for path in (*drift.fields, *detail.fields))
    fields = tuple(dict.fromkeys(paths))[:_FIELDS]
    return replace(drift, fields=fields, actor=drift.actor or detail.manager[:_PATH])


def _end(folded: FoldResult, time: datetime, names: Iterable[str], how: EndedHow) -> FoldResult:
    over = frozenset(names)
    state = folded.state
    ended = tuple(
        replace(drift, ended_at=time, ended_how=how)
        for name, drift in state.open.items()
        if name in over
    )
    left = {name: drift for name, drift in state.open.items() if name not in over}
    return replace(folded, drifts=folded.drifts + ended, state=replace(state, open=left))
