"""The world of an application: what Git wants beside what the cluster has, ready to be decided on.

It joins the comparison with the objects themselves and with what the project permits. Where the
comparison cannot tell, or says "different" about what the last sync applied, the server is asked
(see handler); its answer is good for as long as both sides stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from bus.identity import Digest, ResourceKey, digest_of
from bus.status import SyncStatus
from handlers.application.unsupported import Unsupported
from handlers.compare.change import Outcome, Verdict
from handlers.compare.desired import Desired
from handlers.compare.drift import Comparison, ResourceState, compare, resolve
from handlers.manifest.access import Manifest
from handlers.ports import LiveObject
from handlers.render.recipe import RenderRecord


class State(StrEnum):
    SAME = "same"
    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"
    """In the cluster, ours, and no longer in Git."""
    LEAVING = "leaving"
    """Extra, and already being deleted."""


class Question(msgspec.Struct, frozen=True):
    """What the server may be asked: whether applying this would change that."""

    desired: Digest
    uid: str
    resource_version: str


Answers = Mapping[Question, Outcome]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One object; `desired` is None for extra objects, `live` for missing ones."""

    key: ResourceKey
    state: State
    said: ResourceState
    desired: Manifest | None = None
    live: LiveObject | None = None
    denied: str = ""
    """Why the project does not permit it; empty where it does."""

    @property
    def permitted(self) -> bool:
        return not self.denied


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs in order of their keys, and what Git has besides."""

    record: RenderRecord
    pairs: tuple[Pair, ...]
    hooks: tuple[Manifest, ...] = ()
    excluded: tuple[ResourceKey, ...] = ()
    """Objects of Git whose kind the settings exclude: they are left alone."""
    held_by_settings: tuple[Unsupported, ...] = ()

    @property
    def status(self) -> SyncStatus:
        """An object that is being deleted already is as wanted: it needs nothing more from us.

        One that the project does not permit never is.
        """
        if not all(one.permitted for one in self.pairs):
            return SyncStatus.OUT_OF_SYNC
        counted = (one.said for one in self.pairs if one.state is not State.LEAVING)
        return Comparison(tuple(counted)).status

    @property
    def manifests(self) -> Iterator[Manifest]:
        """All that Git has, hooks too."""
        yield from (one.desired for one in self.pairs if one.desired is not None)
        yield from self.hooks

    def denying(self, denials: Mapping[ResourceKey, str]) -> World:
        """The same, with these objects not permitted; what was to be pruned of them stays."""
        left = (one for one in self.pairs if one.key not in denials or one.desired is not None)
        pairs = (
            msgspec.structs.replace(one, denied=one.denied or denials.get(one.key, ""))
            for one in left
        )
        return msgspec.structs.replace(self, pairs=tuple(pairs)) if denials else self

    def of(self, *states: State) -> tuple[Pair, ...]:
        return tuple(one for one in self.pairs if one.state in states)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of Git and the cluster: `lives` holds the tracked objects and the desired."""

    record: RenderRecord
    desired: Desired
    lives: Mapping[ResourceKey, LiveObject]
    identity: str
    denied: Mapping[ResourceKey, str] = {}
    """What the project does not permit, and why: neither applied nor pruned."""
    excluded: tuple[ResourceKey, ...] = ()
    takes_over: bool = True
    """Whether a sync takes over the fields of earlier tools (`ClientSideApplyMigration`)."""


def compared(found: Found, answers: Answers) -> Comparison:
    """Locally, and with what the server has said before."""
    comparison = compare(found.desired, found.lives, found.identity, takes_over=found.takes_over)
    known = {
        key: answers[question]
        for key, question in questions(comparison, found).items()
        if question in answers
    }
    return resolve(comparison, known)


def questions(
    comparison: Comparison, found: Found, *, deployed: bool = True
) -> Mapping[ResourceKey, Question]:
    """What the server could tell.

    `deployed` says that this very state was applied before; where it was not, a difference is
    believed: it is applied in any case.
    """
    doubtful = frozenset(comparison.doubtful)
    asked = {
        state.key
        for state in comparison.resources
        if state.key in doubtful and (deployed or state.verdict is Verdict.UNCERTAIN)
    }
    wanted = found.desired.wanted
    return {
        key: _question(wanted[key], found.lives[key])
        for key in asked
        if key in wanted and found.lives[key].body
    }


def joined(comparison: Comparison, found: Found) -> World:
    wanted = found.desired.wanted
    pairs = tuple(
        Pair(
            key=said.key,
            state=_state(said, found.lives.get(said.key)),
            said=said,
            desired=wanted.get(said.key),
            live=found.lives.get(said.key),
            denied=found.denied.get(said.key, ""),
        )
        for said in comparison.resources
        if not said.hook and (said.key in wanted or said.key not in found.denied)
    )
    return World(
        record=found.record, pairs=pairs, hooks=found.desired.hooks, excluded=found.excluded
    )


def _question(desired: Manifest, live: LiveObject) -> Question:
    content = msgspec.json.encode(desired, order="deterministic")
    return Question(digest_of(content), live.uid, live.resource_version)


def _state(said: ResourceState, live: LiveObject | None) -> State:
    if live is None:
        return State.MISSING
    if said.requires_pruning:
        return State.LEAVING if live.deleting else State.EXTRA
    return State.SAME if said.status is SyncStatus.SYNCED else State.CHANGED
