"""Results that had no room in the status, worked out again from what the cluster has. Pure.

An operation of very many objects forgets most of its results at each write of the status. An object
that is as desired was synced, or did not have to be. One that differs, in a wave of which another
object has failed, has failed too: it is not sent again and again while hooks of that wave run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bus.status import ResultStatus
from handlers.application.status import OperationState, ResourceResult
from handlers.sync.operation_results import failures, id_of, result
from handlers.sync.sync_plan import SyncAction, SyncTask


def left_out_results(state: OperationState, tasks: Iterable[SyncTask]) -> Iterator[ResourceResult]:
    """Yield the results of tasks that the state has none of any more."""
    written = state.sync_result
    if written is None or written.resources_total <= len(written.resources):
        return
    ordinary = tuple(one for one in tasks if one.hook is None)
    known = {id_of(one) for one in written.resources}
    failed = {id_of(one) for one in failures(written.resources)}
    failing = {(one.phase, one.wave) for one in ordinary if one.id in failed}
    for one in ordinary:
        if one.id in known:
            continue
        if one.action is SyncAction.APPLY and not one.changed:
            yield result(one, ResultStatus.SYNCED, "unchanged")
        elif (one.phase, one.wave) in failing:
            yield result(one, ResultStatus.SYNC_FAILED, "the status had no room for its message")
