"""Comparison: the desired and live objects of one Application in pairs, with what differs. Pure.

It joins the drift summary with the objects themselves and with what the project permits. Where the
summary cannot tell, or says "different" about what the last sync applied, the server is asked (see
`reader`); its answer holds for as long as both objects stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from bus.identity import Digest, ResourceKey
from bus.status import SyncStatus
from handlers.application.destination import IN_CLUSTER, DestinationCluster
from handlers.application.ignore_rules import ObjectRules
from handlers.application.known_types import KnownTypeRules
from handlers.application.unsupported import Unsupported
from handlers.comparison.desired_objects import DesiredObjects
from handlers.comparison.drift_summary import DriftSummary
from handlers.comparison.ignored_fields import IgnoredFields
from handlers.comparison.object_difference import DiffOutcome
from handlers.comparison.resource_state import ResourceState
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.ports import LiveObject
from handlers.ports.render_record import RenderRecord


class PairState(StrEnum):
    SAME = "same"
    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"
    """In the cluster, tracked by this application, and no longer in Git."""
    LEAVING = "leaving"
    """Extra, and already being deleted."""


class DryRunQuestion(msgspec.Struct, frozen=True):
    """A question to the server: whether applying this desired object changes that live object.

    It names both by content and version, so its answer can be kept for as long as they last.
    """

    desired: Digest
    uid: str
    resource_version: str
    rules: ObjectRules | None = None
    """What is ignored of both, which may change while the objects stay."""


Answers = Mapping[DryRunQuestion, DiffOutcome]


class ComparedPair(msgspec.Struct, frozen=True, kw_only=True):
    """One object of an application; `desired` is None for extra objects, `live` for missing."""

    key: ResourceKey
    state: PairState
    resource: ResourceState
    desired: Manifest | None = None
    live: LiveObject | None = None
    denied: str = ""
    """Why the project does not permit it; empty where it does."""
    unseen: str = ""
    """Why its newest state cannot be seen, so that it must not be pruned; empty where it can."""
    ignored: IgnoredFields | None = None
    """Fields of both sides that take no part in the comparison."""

    @property
    def permitted(self) -> bool:
        return not self.denied

    @property
    def is_leaving(self) -> bool:
        return self.state is PairState.LEAVING


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs in order of their keys, hooks, and what the settings keep out."""

    record: RenderRecord
    pairs: tuple[ComparedPair, ...]
    hooks: tuple[Manifest, ...] = ()
    denied_hooks: Mapping[ResourceKey, str] = {}
    """Hooks that the project or the owner's policy does not permit, and why."""
    live_hooks: tuple[ResourceState, ...] = ()
    """Hooks of this application that are in the cluster, whether Git still has them or not."""
    excluded: tuple[ResourceKey, ...] = ()
    """Desired objects whose kind the settings exclude: they are left alone."""
    held_by_settings: tuple[Unsupported, ...] = ()
    rule_problems: tuple[str, ...] = ()
    """Ignore rules that have no effect, and why."""
    persists_health: bool = False
    """Whether the health of each object is part of the status."""
    orphaned: tuple[ResourceKey, ...] = ()
    """Objects in the destination's namespace that no application has, where the project asks."""
    namespace_differs: bool = False
    """Whether the metadata of the destination's Namespace is not the one that was applied last."""
    cluster: DestinationCluster = IN_CLUSTER
    """Where the live objects are, with server and name."""
    annotated: tuple[Manifest, ...] = ()
    """The desired objects and hooks with an annotation that asks the agent for something."""
    images: frozenset[str] = frozenset()
    """The images of the desired objects."""

    @property
    def status(self) -> SyncStatus:
        """OutOfSync, Unknown or Synced, of all objects together.

        An object that is being deleted already counts as synced: it needs nothing more from us.
        A desired object that the project does not permit is never synced.
        """
        if self.namespace_differs or not all(one.permitted for one in self.pairs):
            return SyncStatus.OUT_OF_SYNC
        counted = (one.resource for one in self.pairs if one.state is not PairState.LEAVING)
        return DriftSummary(tuple(counted)).status

    def denying(self, denials: Mapping[ResourceKey, str]) -> Comparison:
        """Deny these objects; those among them that were to be pruned are left out."""
        left = (one for one in self.pairs if one.key not in denials or one.desired is not None)
        pairs = (
            msgspec.structs.replace(one, denied=one.denied or denials.get(one.key, ""))
            for one in left
        )
        hooks = {key: why for key, why in denials.items() if key in self.hook_keys}
        denied = {**hooks, **self.denied_hooks}
        if not denials:
            return self
        return msgspec.structs.replace(self, pairs=tuple(pairs), denied_hooks=denied)

    @property
    def hook_keys(self) -> frozenset[ResourceKey]:
        """The keys of all desired hooks; one with a generated name has none."""
        return frozenset(map(access.key, self.hooks))

    def of(self, *states: PairState) -> tuple[ComparedPair, ...]:
        """The pairs in any of these states."""
        return tuple(one for one in self.pairs if one.state in states)


class ComparisonInput(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides as read; `lives` holds the tracked objects and those with a desired key."""

    record: RenderRecord
    desired: DesiredObjects
    lives: Mapping[ResourceKey, LiveObject]
    identity: str
    denied: Mapping[ResourceKey, str] = {}
    """Objects that the project does not permit, and why: neither applied nor pruned."""
    cluster: DestinationCluster = IN_CLUSTER
    excluded: tuple[ResourceKey, ...] = ()
    known_types: KnownTypeRules = ()
    """The fields of custom resources whose types the settings name."""
    takes_over: bool = True
    """Whether a sync takes over the fields of earlier tools (`ClientSideApplyMigration`)."""
    rules: Mapping[ResourceKey, ObjectRules] = {}
    """The ignore rules of the objects that have any."""
    ignored: Mapping[ResourceKey, IgnoredFields] = {}
    """What these rules ignore."""
    unseen: Mapping[ResourceKey, str] = {}
    """Live objects that Git does not have and whose newest state cannot be seen, and why."""


def joined(summary: DriftSummary, inputs: ComparisonInput) -> Comparison:
    """Pair both sides; denied objects that Git does not have are left out altogether."""
    desired = inputs.desired.objects
    pairs = tuple(
        ComparedPair(
            key=resource.key,
            state=_state(resource, inputs.lives.get(resource.key)),
            resource=resource,
            desired=desired.get(resource.key),
            live=inputs.lives.get(resource.key),
            denied=inputs.denied.get(resource.key, ""),
            unseen=inputs.unseen.get(resource.key, ""),
            ignored=inputs.ignored.get(resource.key),
        )
        for resource in summary.resources
        if not resource.hook and (resource.key in desired or resource.key not in inputs.denied)
    )
    hooks = map(access.key, inputs.desired.hooks)
    return Comparison(
        record=inputs.record,
        pairs=pairs,
        hooks=inputs.desired.hooks,
        denied_hooks={key: inputs.denied[key] for key in hooks if key in inputs.denied},
        live_hooks=tuple(one for one in summary.resources if one.hook and one.live),
        excluded=inputs.excluded,
        cluster=inputs.cluster,
        annotated=inputs.desired.annotated,
        images=inputs.desired.images,
    )


def _state(resource: ResourceState, live: LiveObject | None) -> PairState:
    if live is None:
        return PairState.MISSING
    if resource.requires_pruning:
        return PairState.LEAVING if live.deleting else PairState.EXTRA
    return PairState.SAME if resource.status is SyncStatus.SYNCED else PairState.CHANGED
