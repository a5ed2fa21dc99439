"""The health of Numaflow's pipelines and of Numaplane's rollouts of them."""

from __future__ import annotations

from handlers.health.paths import label_path
from handlers.health.patterns import UNTIL_OBSERVED, UNTIL_STATUS
from handlers.health.predicates import Either, Filled, Has, Is, Not
from handlers.health.rule import (
    PROGRESSING,
    UNKNOWN,
    Clause,
    Conditions,
    Field,
    Rule,
    When,
)
from handlers.health.table import KindTable

_FAILED = (Conditions(degraded="*=False"), Field("status.phase", degraded="Failed"))
_REJECTED = Field(label_path("numaplane.numaproj.io/progressive-result-state"), degraded="failed")
_ROLLED_BACK = "ProgressiveUpgradeSucceeded=False"
_AT_WORK = When(
    PROGRESSING,
    Either(Filled("status.upgradeInProgress"), Is("status.phase", "Pending")),
    Not(Has(_ROLLED_BACK)),
    message="an upgrade is in progress",
)
_CHILDREN_AT_WORK = Conditions(progressing="ChildResourcesHealthy=False/Progressing")


def _flow(*clauses: Clause) -> Rule:
    return Rule(UNTIL_OBSERVED, *_FAILED, *clauses)


def _rollout(failed: str, paused: tuple[str, ...] = ()) -> Rule:
    return Rule(
        UNTIL_STATUS,
        UNTIL_OBSERVED,
        _AT_WORK,
        _CHILDREN_AT_WORK,
        Field("status.phase", degraded="Failed"),
        Conditions(degraded=(f"ChildResourcesHealthy=False/{failed}", _ROLLED_BACK)),
        Conditions(healthy=(*paused, "ChildResourcesHealthy=True")),
        otherwise=UNKNOWN,
    )


KINDS: KindTable = {
    "numaflow.numaproj.io": {
        "Pipeline": _flow(
            _REJECTED, Field("status.phase", healthy=("Running", "Paused", "Pausing"))
        ),
        "MonoVertex": _flow(_REJECTED, Field("status.phase", healthy=("Running", "Paused"))),
        "Vertex": _flow(Field("status.phase", healthy=("Running", "Paused"))),
        "InterStepBufferService": _flow(_REJECTED, Field("status.phase", healthy="Running")),
    },
    "numaplane.numaproj.io": {
        "ISBServiceRollout": _rollout("ISBSvcFailed"),
        "PipelineRollout": _rollout("PipelineFailed", ("PipelinePausingOrPaused=True",)),
        "MonoVertexRollout": _rollout("MonoVertexFailed", ("MonoVertexPausingOrPaused=True",)),
        "NumaflowControllerRollout": Rule(
            UNTIL_STATUS,
            UNTIL_OBSERVED,
            Field("status.phase", progressing="Pending"),
            _CHILDREN_AT_WORK,
            Field("status.phase", degraded="Failed"),
            Conditions(
                degraded="ChildResourcesHealthy=False", healthy="ChildResourcesHealthy=True"
            ),
            otherwise=UNKNOWN,
        ),
    },
}
