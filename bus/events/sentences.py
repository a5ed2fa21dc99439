"""The sentence of each fact, as people read it in the command line and in the demo. Pure."""

from __future__ import annotations

from bus.events.event import Event
from bus.events.facts import (
    AppDeleted,
    CommandRefused,
    Compared,
    HealthAssessed,
    ManifestsRendered,
    OperationFinished,
    OperationStarted,
    RefreshFailed,
    RenderFailed,
    ResourcesApplied,
    RevisionResolved,
    SyncSkipped,
)
from bus.status import OperationPhase

_COMMIT = 40


def sentence_of(event: Event) -> str:  # noqa: C901, PLR0911  one line a kind of fact
    """What happened, without when and to which application; an unknown fact is its name."""
    match event:
        case RevisionResolved():
            return f"commit {short(event.revision)} touches {event.touched} of {event.watching}"
        case ManifestsRendered():
            how = "unchanged" if event.cached else "rendered"
            return f"{counted(event.objects, 'object')} {how} at {short(event.revision)}"
        case Compared():
            return f"{event.status}: {_difference(event)}"
        case OperationStarted():
            who = "automated sync" if event.automated else f"sync by {event.initiated_by}"
            return f"{who} to {short(event.revision)} started"
        case ResourcesApplied():
            return _applied(event)
        case OperationFinished():
            return _finished(event)
        case HealthAssessed():
            reason = f": {event.message}" if event.message else ""
            return f"health {event.before} → {event.status}{reason}"
        case RenderFailed() | RefreshFailed():
            return f"{event.reason}: {event.message}"
        case SyncSkipped():
            return f"no sync: {event.message}"
        case CommandRefused():
            return f"{event.command} by {event.claimed_actor} refused: {event.message}"
        case AppDeleted():
            pruned = f", {counted(event.pruned, 'object')} pruned" if event.pruned else ""
            return f"Application deleted{pruned}"
        case _:
            return event.name


def short(revision: str) -> str:
    """A commit by its first seven digits; tags and chart versions as they are."""
    return revision[:7] if len(revision) == _COMMIT and revision.isalnum() else revision


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _difference(event: Compared) -> str:
    counts = {"changed": event.changed, "missing": event.missing, "to prune": event.extra}
    return ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "no differences"


def _applied(event: ResourcesApplied) -> str:
    """The first failure in full: it is what one looks for."""
    counts = {"applied": event.applied, "pruned": event.pruned, "failed": len(event.failed)}
    said = ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "no changes"
    first = next(iter(event.failed), None)
    return f"{said}: {first.resource}: {first.message}" if first else said


def _finished(event: OperationFinished) -> str:
    """A success needs no message; how long it took is worth a word from a second on."""
    took = f" in {event.seconds:.0f} s" if event.seconds >= 1 else ""
    if event.phase is OperationPhase.SUCCEEDED:
        return f"sync succeeded{took}"
    reason = f": {event.message}" if event.message else ""
    return f"sync {event.phase.lower()}{took}{reason}"
