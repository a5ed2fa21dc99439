"""DriftSummary: the sync state of every object of an application. Pure.

Desired and live objects are paired by key:

    desired  live                                          the object is
    yes      yes                                           synced, different or uncertain: `diff`
    yes      no                                            out of sync: missing
    no       tracked by this application, without owner    out of sync: to be pruned
    no       tracking annotation of another object         no part of it: an operator copied our
                                                           annotation to an object of its own
    a hook   any                                           listed, without a sync status

Fields that ignore rules name are left out of a pair before it is compared (`ignored_fields`).

`doubtful` names the objects about which the server should be asked; `resolve` takes its answers.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

import msgspec

from bus.identity import ResourceKey
from bus.status import SyncStatus
from handlers.application.known_types import KnownTypeRules
from handlers.comparison.desired_objects import DesiredObjects
from handlers.comparison.earlier_leftovers import left_over
from handlers.comparison.ignored_fields import IgnoredFields, ObjectSides
from handlers.comparison.object_diff import diff
from handlers.comparison.object_difference import (
    ChangeKind,
    DiffOutcome,
    DiffVerdict,
    FieldDifference,
)
from handlers.comparison.owned_fields import field_set, parse_fields
from handlers.comparison.resource_state import (
    KnownState,
    KnownStates,
    PairOptions,
    ResourceState,
)
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.hooks import is_hook
from handlers.manifest.options import compare_options_of
from handlers.manifest.order import wave
from handlers.manifest.tracking import TRACKING_ID
from handlers.ports import LiveObject

LiveObjects = Mapping[ResourceKey, LiveObject]
Ignored = Mapping[ResourceKey, IgnoredFields]


_NOTHING_IGNORED: Ignored = {}


class DriftSummary(msgspec.Struct, frozen=True):
    """All objects, sorted by key as in an Application's status."""

    resources: tuple[ResourceState, ...]

    @property
    def status(self) -> SyncStatus:
        """The worst status of the objects that count."""
        statuses = {state.status for state in self.resources if state.counts}
        if SyncStatus.OUT_OF_SYNC in statuses:
            return SyncStatus.OUT_OF_SYNC
        return SyncStatus.UNKNOWN if SyncStatus.UNKNOWN in statuses else SyncStatus.SYNCED

    @property
    def differing(self) -> tuple[ResourceKey, ...]:
        """The live objects of Git that are not the same for certain."""
        return tuple(
            state.key
            for state in self.resources
            if state.live and not state.requires_pruning and state.verdict is not DiffVerdict.SAME
        )

    @property
    def doubtful(self) -> tuple[ResourceKey, ...]:
        """The live objects not certainly the same: the server's dry run decides on them."""
        return tuple(
            state.key
            for state in self.resources
            if state.live
            and state.verdict is not DiffVerdict.SAME
            and not state.requires_pruning
            and not state.left_over
        )


_DEFAULT_OPTIONS = PairOptions()


def compare(
    desired: DesiredObjects,
    live: LiveObjects,
    identity: str,
    *,
    options: PairOptions = _DEFAULT_OPTIONS,
    ignored: Ignored = _NOTHING_IGNORED,
    known: KnownStates | None = None,
) -> DriftSummary:
    """Compare all objects; `live` holds those desired and those tracked by `identity`.

    A pair that is in `known` as it is now is not compared again; `known` has all pairs afterwards.
    """
    known = known if known is not None else KnownStates()
    context = (identity, options)
    before = known.pairs if known.context == context else {}
    pairs: dict[ResourceKey, KnownState] = {}
    for key, manifest in desired.objects.items():
        sides = ObjectSides(manifest, live.get(key), ignored.get(key))
        found = before.get(key)
        if found is None or not found.is_of(sides):
            state = _desired(sides, key, identity, options.known_types)
            found = KnownState(
                sides, _with_left_over(state, sides) if options.takes_over else state
            )
        pairs[key] = found
    known.context, known.pairs = context, pairs
    states = [one.state for one in pairs.values()]
    states.extend(_hook(manifest, live) for manifest in desired.hooks if access.name(manifest))
    states.extend(_extraneous(live, desired.keys, identity))
    return DriftSummary(tuple(sorted(states, key=lambda state: state.key)))


def resolve(summary: DriftSummary, answers: Mapping[ResourceKey, DiffOutcome]) -> DriftSummary:
    """Replace the outcomes of doubtful objects by the server's answers."""
    return DriftSummary(
        tuple(
            _judged(state, answers[state.key]) if state.key in answers else state
            for state in summary.resources
        )
    )


def _desired(
    pair: ObjectSides, key: ResourceKey, identity: str, known_types: KnownTypeRules
) -> ResourceState:
    state = ResourceState(
        key=key,
        version=access.version(pair.desired),
        wave=wave(pair.desired),
        live=pair.live is not None,
        shared_with=_other_app(pair.live, identity),
    )
    outcome = _outcome(pair, known_types)
    if pair.ignored is not None and outcome.verdict is DiffVerdict.SAME:
        whole = _outcome(pair._replace(ignored=None), known_types)
        hides = whole.verdict is DiffVerdict.DIFFERENT
        state = msgspec.structs.replace(state, hides_difference=hides)
    return _judged(state, outcome)


def _with_left_over(state: ResourceState, pair: ObjectSides) -> ResourceState:
    live = pair.live
    if live is None or not live.body or not live.inherited:
        return state
    extra = left_over(*pair.compared(), field_set(live.inherited))
    if not extra:
        return state
    known = {one.path for one in state.differences}
    together = (*state.differences, *(one for one in extra if one.path not in known))
    outcome = DiffOutcome(verdict=DiffVerdict.DIFFERENT, differences=together, doubts=state.doubts)
    return msgspec.structs.replace(_judged(state, outcome), left_over=True)


def _outcome(pair: ObjectSides, known_types: KnownTypeRules) -> DiffOutcome:
    """Compare one pair; the index keeps no body of an object that nobody tracks.

    Such an object lacks at least our annotation, so it is different without a look at the rest.
    """
    live = pair.live
    if live is not None and live.body:
        return diff(*pair.compared(), parse_fields(live.owned), known_types)
    path = "" if live is None else f'metadata.annotations["{TRACKING_ID}"]'
    lacking = FieldDifference(path=path, kind=ChangeKind.MISSING)
    return DiffOutcome(verdict=DiffVerdict.DIFFERENT, differences=(lacking,))


def _judged(state: ResourceState, outcome: DiffOutcome) -> ResourceState:
    status = {
        DiffVerdict.SAME: SyncStatus.SYNCED,
        DiffVerdict.DIFFERENT: SyncStatus.OUT_OF_SYNC,
        DiffVerdict.UNCERTAIN: SyncStatus.UNKNOWN,
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
    found = live.get(key)
    return ResourceState(
        key=key,
        version=access.version(manifest),
        wave=wave(manifest),
        hook=True,
        live=found is not None and bool(found.body),
        counts=False,
    )


def _extraneous(
    live: LiveObjects, known: Container[ResourceKey], identity: str
) -> Iterator[ResourceState]:
    for key, found in live.items():
        if key in known or found.owners or not found.body:
            continue
        if found.application == identity:
            yield _extra(key, found.manifest)


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
    """The other application that tracks the object; a copied annotation does not count."""
    owner = found.application if found is not None else ""
    return owner if owner != identity else ""
