"""Desired set x live set -> how an application stands, object by object.

Pairs are made by key. A live object that nobody desires counts if it is tracked by this application
and names itself (copies of our annotation do not), and has no owner. Hooks are no part of the sync
status. The result is a value: `doubtful` names what the server should be asked about, and `resolve`
takes its answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from bus.identity import ResourceKey
from bus.status import SyncStatus
from handlers.compare.change import ChangeKind, Difference, Outcome, Verdict
from handlers.compare.desired import Desired
from handlers.compare.diff import diff
from handlers.compare.fields import field_set, parse_fields
from handlers.compare.left_over import left_over
from handlers.manifest import access, tracking
from handlers.manifest.access import Manifest
from handlers.manifest.hooks import is_hook
from handlers.manifest.options import compare_options_of
from handlers.manifest.order import wave
from handlers.manifest.tracking import TrackingId
from handlers.ports import LiveObject

LiveObjects = Mapping[ResourceKey, LiveObject]


class ResourceState(msgspec.Struct, frozen=True, kw_only=True):
    """One object of an application; `status` is None where it does not take part (hooks)."""

    key: ResourceKey
    version: str
    wave: int = 0
    hook: bool = False
    live: bool = True
    status: SyncStatus | None = None
    requires_pruning: bool = False
    counts: bool = True
    """Whether its status worsens that of the application (`IgnoreExtraneous` says no)."""
    verdict: Verdict = Verdict.SAME
    differences: tuple[Difference, ...] = ()
    doubts: tuple[str, ...] = ()
    left_over: bool = False
    """Holds fields of earlier tools that Git does not have, which no dry run shows."""
    shared_with: str = ""
    """The identity of another application that the live object says it belongs to."""


class Comparison(msgspec.Struct, frozen=True):
    """All objects, sorted by key as in an Application's status."""

    resources: tuple[ResourceState, ...]

    @property
    def status(self) -> SyncStatus:
        said = {state.status for state in self.resources if state.counts}
        if SyncStatus.OUT_OF_SYNC in said:
            return SyncStatus.OUT_OF_SYNC
        return SyncStatus.UNKNOWN if SyncStatus.UNKNOWN in said else SyncStatus.SYNCED

    @property
    def doubtful(self) -> tuple[ResourceKey, ...]:
        """The objects about which the server's dry run decides: live, and not surely the same."""
        return tuple(
            state.key
            for state in self.resources
            if state.live
            and state.verdict is not Verdict.SAME
            and not state.requires_pruning
            and not state.left_over
        )


def compare(
    desired: Desired, live: LiveObjects, identity: str, *, takes_over: bool = True
) -> Comparison:
    """`live`: all with a desired key or tracked by `identity`.

    `takes_over`: a sync takes over the fields of earlier tools, so they count as Git's.
    """
    states = [
        _wanted(key, manifest, live.get(key), identity) for key, manifest in desired.wanted.items()
    ]
    if takes_over:
        wanted = desired.wanted
        states = [_with_left_over(state, wanted[state.key], live) for state in states]
    states.extend(_hook(manifest, live) for manifest in desired.hooks if access.name(manifest))
    known = {state.key for state in states}
    states.extend(_extraneous(live, known, identity))
    return Comparison(tuple(sorted(states, key=lambda state: state.key)))


def resolve(comparison: Comparison, answers: Mapping[ResourceKey, Outcome]) -> Comparison:
    """The comparison with the server's answers in place of what was doubtful."""
    return Comparison(
        tuple(
            _judged(state, answers[state.key]) if state.key in answers else state
            for state in comparison.resources
        )
    )


def _wanted(
    key: ResourceKey, manifest: Manifest, found: LiveObject | None, identity: str
) -> ResourceState:
    state = ResourceState(
        key=key,
        version=access.version(manifest),
        wave=wave(manifest),
        live=found is not None,
        shared_with=_other_app(found, identity),
    )
    return _judged(state, _outcome(manifest, found))


def _with_left_over(state: ResourceState, manifest: Manifest, live: LiveObjects) -> ResourceState:
    found = live.get(state.key)
    if found is None or not found.body or not found.inherited:
        return state
    extra = left_over(manifest, found.manifest, field_set(found.inherited))
    if not extra:
        return state
    known = {one.path for one in state.differences}
    together = (*state.differences, *(one for one in extra if one.path not in known))
    outcome = Outcome(verdict=Verdict.DIFFERENT, differences=together, doubts=state.doubts)
    return msgspec.structs.replace(_judged(state, outcome), left_over=True)


def _outcome(manifest: Manifest, found: LiveObject | None) -> Outcome:
    """The index keeps no body of objects that nobody tracks: those at least lack our annotation."""
    if found is not None and found.body:
        return diff(manifest, found.manifest, parse_fields(found.owned))
    path = "" if found is None else f'metadata.annotations["{tracking.TRACKING_ID}"]'
    lacking = Difference(path=path, kind=ChangeKind.MISSING)
    return Outcome(verdict=Verdict.DIFFERENT, differences=(lacking,))


def _judged(state: ResourceState, outcome: Outcome) -> ResourceState:
    status = {
        Verdict.SAME: SyncStatus.SYNCED,
        Verdict.DIFFERENT: SyncStatus.OUT_OF_SYNC,
        Verdict.UNCERTAIN: SyncStatus.UNKNOWN,
    }[outcome.verdict]
    return msgspec.structs.replace(
        state,
        status=status,
        verdict=outcome.verdict,
        differences=outcome.differences,
        doubts=outcome.doubts,
    )


def _hook(manifest: Manifest, live: LiveObjects) -> ResourceState:
    key = access.key(manifest)
    return ResourceState(
        key=key,
        version=access.version(manifest),
        wave=wave(manifest),
        hook=True,
        live=key in live,
        counts=False,
    )


def _extraneous(
    live: LiveObjects, known: Iterable[ResourceKey], identity: str
) -> Iterator[ResourceState]:
    for key, found in live.items():
        if key in known or found.owners or not found.body:
            continue
        manifest = found.manifest
        if tracking.belongs_to(manifest, identity):
            yield _extra(key, manifest)


def _extra(key: ResourceKey, manifest: Manifest) -> ResourceState:
    hook = is_hook(manifest)
    return ResourceState(
        key=key,
        version=access.version(manifest),
        wave=wave(manifest),
        hook=hook,
        status=None if hook else SyncStatus.OUT_OF_SYNC,
        requires_pruning=not hook,
        counts=not hook and not compare_options_of(manifest).ignore_extraneous,
    )


def _other_app(found: LiveObject | None, identity: str) -> str:
    """The index keeps bodies of self-referenced objects: a copied annotation has none."""
    tracked = TrackingId.parse(found.tracking) if found is not None and found.body else None
    return tracked.app if tracked is not None and tracked.app != identity else ""
