"""The timeline of the command line: one line and one JSON shape for bus and service. Pure.

A person reads when it happened, how long after the step before of the same chain, to which
application, and what in a sentence. A program gets CloudEvents 1.0 in structured mode: the fact's
own type and fields stand in `type` and `data`, so the same jq works wherever it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bus.events.event import recorded_event
from bus.events.sentences import short

FACT = "fact."
_CHAINS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """An event; `type` is that of the wire, and `more` are extensions such as its project."""

    id: str
    source: str
    type: str
    subject: str
    time: datetime | None
    correlation: str = ""
    cause: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The type without its class: `app.compared.v1`, `drift.began`."""
        return self.type.removeprefix(FACT)

    def fits(self, types: Collection[str]) -> bool:
        """Tell whether the type is, or begins with the words of, one of `types`."""
        return not types or any(
            f"{each}.".startswith(f"{it}.") for it in types for each in (self.type, self.name)
        )

    @property
    def structured(self) -> dict[str, object]:
        """Format the entry as CloudEvents 1.0 JSON, with extensions."""
        time = self.time.astimezone(UTC).isoformat() if self.time else None
        known = {
            "specversion": "1.0",
            "id": self.id,
            "source": self.source,
            "type": self.type,
            "subject": self.subject,
            "time": time,
            "datacontenttype": "application/json",
            "correlation": self.correlation,
            "cause": self.cause,
            **self.more,
        }
        return {**{name: it for name, it in known.items() if it}, "data": self.data}


class TimelinePrinter:
    """Prints entries as lines; it remembers the last time of each of the newest chains."""

    def __init__(self) -> None:
        self._last: dict[str, datetime] = {}

    def line(self, entry: TimelineEntry) -> str:
        """Format the entry: `10:00:01.234  +12 ms  argocd/shop  Synced: no differences`."""
        time, before = entry.time, self._last.pop(entry.correlation, None)
        step = ""
        if time and entry.correlation:
            self._last[entry.correlation] = time
            step = f"{(time - before).total_seconds() * 1000:+.0f} ms" if before else ""
        while len(self._last) > _CHAINS:
            del self._last[next(iter(self._last))]
        clock = time.astimezone().strftime("%H:%M:%S.%f")[:-3] if time else ""
        text = f"{clock:<12} {step:>9}  {entry.subject}  {sentence(entry)}"
        return "".join(each if each.isprintable() else " " for each in text).rstrip()


def sentence(entry: TimelineEntry) -> str:
    """Describe a fact or a change in a sentence; an unknown type is described by its name."""
    if entry.type.startswith(FACT):
        fact = recorded_event(entry.type, entry.data)
        return fact.sentence if fact else _fields(entry)
    made = _CHANGES.get(entry.type)
    return made(entry.data) if made else _fields(entry)


def _fields(entry: TimelineEntry) -> str:
    """List the single values of the body; lists are left out."""
    known = {name: it for name, it in entry.data.items() if isinstance(it, str | int | float)}
    fields = " ".join(f"{name}={short(str(it))}" for name, it in known.items() if it not in ("", 0))
    return f"{entry.name} {fields}".rstrip()


def _application(data: Mapping[str, Any]) -> str:
    states = [str(data.get(name) or "") for name in ("sync", "health", "phase")]
    return ", ".join(it for it in states if it)


def _task(data: Mapping[str, Any]) -> str:
    about = " of ".join(
        it for it in (str(data.get("kind", "")), str(data.get("subject", ""))) if it
    )
    message = f": {data['message']}" if data.get("message") else ""
    return f"task {about} {data.get('phase', '')}".rstrip() + message


def _drift(verb: str, data: Mapping[str, Any]) -> str:
    actor = f" by {data['actor']}" if data.get("actor") else ""
    how = f" ({data['endedHow']})" if data.get("endedHow") else ""
    return f"drift {verb}: {data.get('object', '')}{actor}{how}"


def _object(data: Mapping[str, Any]) -> str:
    return f"{data.get('kind', 'object')} {'removed' if data.get('deleted') else 'changed'}"


_CHANGES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "application.changed": _application,
    "application.removed": lambda _: "Application removed",
    "task.changed": _task,
    "drift.began": lambda data: _drift("began", data),
    "drift.ended": lambda data: _drift("ended", data),
    "object.changed": _object,
    "agent.changed": lambda _: "agent changed",
    "agent.removed": lambda _: "agent removed",
    "audit.recorded": lambda data: f"audit: {data.get('action', 'a record')}",
}
CHANGE_TYPES = tuple(_CHANGES)
"""Types of the service's change feed, besides facts."""
