"""Rules that many kinds share, as values. Pure."""

from __future__ import annotations

from handlers.health.predicates import AtLeast, Filled, Has, HasAll, Not, reported_stale, stale
from handlers.health.rule import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Conditions,
    Field,
    Rule,
    Scan,
    When,
)

NOT_SEEN = "the controller has not seen the newest spec yet"

UNTIL_CONDITIONS = When(
    PROGRESSING, Not(Filled("status.conditions")), message="the object has no conditions yet"
)
UNTIL_STATUS = When(PROGRESSING, Not(Filled("status")), message="the object has no status yet")
UNTIL_OBSERVED = When(PROGRESSING, stale, message=NOT_SEEN)
"""For kinds whose status always names the generation that it is about."""
UNLESS_STALE = When(PROGRESSING, reported_stale, message=NOT_SEEN)
"""For kinds whose status may leave out the generation."""
SUSPENDED_BY_SPEC = Field("spec.suspend", suspended=True)

READY = Rule(Scan(degraded="Ready=False", healthy="Ready=True"))
READY_OR_DEGRADED = Rule(Scan(healthy="Ready=True", degraded="Ready=*"))
"""Counts an unknown readiness as degraded."""
NOT_READY_OR_READY = Rule(Scan(degraded="NotReady=True", healthy="Ready=True"))

READY_AND_SYNCED = Rule(
    UNTIL_CONDITIONS,
    When(HEALTHY, HasAll("Ready=True", "Synced=True")),
    Conditions(suspended="Synced!=True/ReconcilePaused"),
    When(PROGRESSING, Has("Synced=True"), message="the object is synced, but not ready yet"),
    Conditions(degraded=("Synced!=True", "Ready!=True")),
    otherwise=DEGRADED,
)


def flux(signals: int, *patterns: str) -> Rule:
    """A reconciler of Flux is healthy with so many of these conditions."""
    return Rule(
        SUSPENDED_BY_SPEC,
        UNTIL_CONDITIONS,
        When(PROGRESSING, HasAll("Ready=Unknown", "Reconciling=True"), message="reconciling"),
        When(HEALTHY, AtLeast(signals, *patterns)),
        Conditions(degraded="Ready!=True"),
        otherwise=DEGRADED,
    )
