"""The size of a status: the API server stores no object of more than 1.5 MiB. Pure.

An application of some ten thousand objects has a status of more than that. So both long lists of a
status have a limit of their own. What has no room is left out, and `resourcesTotal` beside the list
says how many there are; Argo CD's write fails there. What a person has to see, and what nobody
could work out again, stays: objects that differ, failures, hooks, and one object of each kind and
namespace. The same status is cut the same way, so that an unchanged one is not written again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from bus.status import HealthStatus, ResultStatus, SyncStatus
from handlers.application.status import (
    ApplicationStatus,
    OperationState,
    ResourceResult,
    ResourceStatus,
)

MOST_BYTES_OF_RESOURCES = 900_000
MOST_BYTES_OF_RESULTS = 300_000
_FEW = 100
"""So many entries fit in any case."""

T = TypeVar("T", ResourceStatus, ResourceResult)


def fitting(status: ApplicationStatus) -> ApplicationStatus:
    """Cut the lists that have no room in the object."""
    resources = _cut(status.resources, MOST_BYTES_OF_RESOURCES, _ranks(status.resources))
    total = len(status.resources) if len(resources) < len(status.resources) else 0
    if total:
        status = replace(status, resources=resources, resources_total=total)
    state = status.operation_state
    if state is None or state.sync_result is None:
        return status
    return replace(status, operation_state=fitting_results(state))


def fitting_results(state: OperationState) -> OperationState:
    """Cut the results of an operation; those that were cut before count too."""
    result = state.sync_result
    if result is None:
        return state
    kept = _cut(result.resources, MOST_BYTES_OF_RESULTS, _result_ranks(result.resources))
    total = max(len(result.resources), result.resources_total)
    total = total if total > len(kept) else 0
    if (total, len(kept)) == (result.resources_total, len(result.resources)):
        return state
    return replace(state, sync_result=replace(result, resources=kept, resources_total=total))


def _ranks(resources: Sequence[ResourceStatus]) -> Callable[[ResourceStatus], int]:
    first = {one.key.place: one for one in reversed(resources)} if len(resources) > _FEW else {}

    def rank(one: ResourceStatus) -> int:
        if one.hook or first[one.key.place] is one:
            return 0
        ill = one.health is not None and one.health.status != HealthStatus.HEALTHY
        differs = one.status != SyncStatus.SYNCED or one.requires_pruning
        return 1 if ill or differs or one.requires_deletion_confirmation else 2

    return rank


def _result_ranks(results: Sequence[ResourceResult]) -> Callable[[ResourceResult], int]:
    synced = next((one for one in results if one.status == ResultStatus.SYNCED), None)

    def rank(one: ResourceResult) -> int:
        if one.hook_type or one is synced:
            return 0
        return 1 if one.status != ResultStatus.SYNCED else 2

    return rank


def _cut(entries: tuple[T, ...], most: int, rank: Callable[[T], int]) -> tuple[T, ...]:
    """Keep as many entries as fit, those of the lowest rank first, in the order that they have."""
    if len(entries) <= _FEW or len(msgspec.json.encode(entries)) <= most:
        return entries
    left, kept = most, set[int]()
    for place in sorted(range(len(entries)), key=lambda place: rank(entries[place])):
        left -= len(msgspec.json.encode(entries[place])) + 1
        if left < 0:
            break
        kept.add(place)
    return tuple(one for place, one in enumerate(entries) if place in kept)
