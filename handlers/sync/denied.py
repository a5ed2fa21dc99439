"""Syncs that the project did not permit: when another try is worth it. Pure.

Time changes nothing about a rule, so such a sync is not tried again by the clock. It is when the
project says something else than it said then; the results of the operation are the memory of that.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from handlers.application.denials import NOT_PERMITTED
from handlers.application.status import OperationState
from handlers.sync.operation import results_of
from handlers.sync.results import failures


def permits_otherwise(last: OperationState, denied: AbstractSet[str]) -> bool:
    """Whether `last` met rules of its project, which are others now: `denied`."""
    failed = failures(results_of(last))
    then = {one.message for one in failed if NOT_PERMITTED in one.message}
    return bool(then) and then != denied
