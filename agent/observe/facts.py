"""Facts in numbers and in the log: what a fact counts for, and whether a person may have to act."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.observe.metrics import Metrics
from bus.events import (
    Fact,
    ManifestsRendered,
    OperationFinished,
    RefreshFailed,
    RenderFailed,
)
from bus.status import OperationPhase


def count(metrics: Metrics, fact: Fact) -> None:
    metrics.facts.labels(fact.name).inc()
    match fact:
        case ManifestsRendered():
            metrics.renders.labels(str(fact.cached).lower()).inc()
        case OperationFinished():
            app = fact.app
            metrics.app_syncs.labels(app.namespace, app.name, fact.project, fact.phase).inc()
        case _:
            pass


def needs_a_person(fact: Fact) -> bool:
    """Failures that will not go away by themselves, or that a person wants to see."""
    match fact:
        case RefreshFailed() | RenderFailed():
            return True
        case OperationFinished():
            return fact.phase != OperationPhase.SUCCEEDED
        case _:
            return False


def fields(fact: Fact) -> Mapping[str, object]:
    """The fact as log fields: keys in words, defaults left out."""
    named = msgspec.to_builtins(fact)
    named.pop("app", None)
    named.pop("repository", None)
    return {"fact": fact.name, "about": str(fact.key), **named}
