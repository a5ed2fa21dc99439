"""The health of a SparkApplication: its state, and while it runs the number of its executors. Pure.

A running application is healthy with as many executors as it asks for: a fixed number, a range of
dynamic allocation (in the spec or in `sparkConf`), or one where it names none.
"""

from __future__ import annotations

from handlers.health.patterns import NOT_SEEN
from handlers.health.rule import Field
from handlers.health.states import Health, healthy, progressing
from handlers.manifest.access import Manifest, get, mapping, number, text, whole_number

_STATE = Field(
    "status.applicationState.state",
    progressing=("", "SUBMITTED", "PENDING_RERUN", "SUCCEEDING", "UNKNOWN"),
    healthy="COMPLETED",
    degraded=("FAILED", "SUBMISSION_FAILED", "FAILING"),
    missing="INVALIDATING",
)
_CONFIGURED = ("spark.dynamicAllocation", "spark.streaming.dynamicAllocation")


def spark_application(manifest: Manifest) -> Health:
    if text(manifest, "status", "applicationState", "state") == "RUNNING":
        return _running(manifest)
    return _STATE(manifest) or progressing(NOT_SEEN)


def _running(manifest: Manifest) -> Health:
    states = mapping(manifest, "status", "executorState").values()
    running = sum(state == "RUNNING" for state in states)
    message = f"{running} executors are running"
    if _is_enough(manifest, running):
        return healthy(message)
    return progressing(message)


def _is_enough(manifest: Manifest, running: int) -> bool:
    least, most = _range(manifest)
    if least is not None and most is not None and least <= running <= most:
        return True
    instances = get(manifest, "spec", "executor", "instances")
    if isinstance(instances, int):
        return running == instances
    return least is None and most is None and running >= 1


def _range(manifest: Manifest) -> tuple[int | None, int | None]:
    """The bounds of dynamic allocation; None for one that is not given."""
    block = mapping(manifest, "spec", "dynamicAllocation")
    if block.get("enabled") is True:
        return number(block, "minExecutors", default=1), number(block, "maxExecutors", default=1)
    written = mapping(manifest, "spec", "sparkConf")
    for prefix in _CONFIGURED:
        if written.get(f"{prefix}.enabled") == "true":
            return (
                _number(written.get(f"{prefix}.minExecutors")),
                _number(written.get(f"{prefix}.maxExecutors")),
            )
    return None, None


def _number(value: object) -> int | None:
    return whole_number(str(value))
