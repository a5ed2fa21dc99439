"""One thing that happened, in the form in which it is printed, wherever it was read. Pure.

A fact of the timeline and the same fact in the stream are the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from cli.far.sse import Told
from cli.far.text import clean, clock, moment, short

_FACT = "fact"
_IN_BODY = ("type", "subject", "time", "correlation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """`plain`: {id, type, subject, agent, project, time, body}; a fact's own is in the body."""

    key: tuple[str, ...]
    plain: dict[str, Any] = field(compare=False)

    @property
    def kind(self) -> str:
        """The fact's own type, else the event's: `app.compared.v1`, `drift.began`."""
        return self.key[0]

    def fits(self, types: frozenset[str]) -> bool:
        """A whole type, or its first words: `app`, `app.compared`, `drift`."""
        whole = {self.kind, str(self.plain["type"])}
        return not types or any(
            each == it or each.startswith(f"{it}.") for it in types for each in whole
        )


def of_event(event: Told) -> Moment:
    data, body = event.data, event.data.get("body") or {}
    plain = {"id": event.id, **data}
    if event.name != _FACT:
        return Moment(key=(event.name, event.id), plain={**plain, "type": event.name})
    return Moment(key=_key(str(data.get("agent")), body), plain=plain)


def of_fact(fact: Mapping[str, Any]) -> Moment:
    """Of the timeline: as the change feed would have told it, without an id to resume by."""
    body = {name: fact[name] for name in _IN_BODY}
    plain = {
        "id": "",
        "type": _FACT,
        "subject": fact["subject"],
        "agent": fact["agent"],
        "project": fact["project"],
        "time": fact["time"],
        "body": {**body, "body": fact["body"]},
    }
    return Moment(key=_key(fact["agent"], body), plain=plain)


def words(told: Moment) -> str:
    """`12:00:01.234  app.compared.v1  argocd/shop  status=Synced ...`."""
    plain = told.plain
    body = plain.get("body") or {}
    is_fact = plain["type"] == _FACT
    time = body.get("time") if is_fact else plain.get("time")
    said = body.get("body") if is_fact else body
    fields = said.items() if isinstance(said, Mapping) else ()
    shown = " ".join(f"{name}={_value(value)}" for name, value in fields if value not in ("", None))
    subject = clean(str(plain.get("subject", "")))
    return f"{clock(str(time or ''))}  {told.kind:<24} {subject}  {clean(shown)}".rstrip()


def _key(agent: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    type_ = str(body.get("type", "")).removeprefix("fact.")
    time = moment(str(body.get("time") or ""))
    at = time.astimezone(UTC).isoformat() if time else ""
    return (type_, agent, str(body.get("subject", "")), str(body.get("correlation", "")), at)


def _value(value: object) -> str:
    match value:
        case str():
            return f'"{value}"' if " " in value else short(value)
        case list() | dict():
            return f"[{len(value)}]"
        case _:
            return str(value)
