"""Every event has a kind, a name, and a key; the registry maps its type on the wire to its class.

The name holds the version (`manifests.rendered.v1`), the subject never does. A new meaning is a new
version and a new class; a new optional field is not. A wire type is `{kind}.{name}`, e.g.
`fact.manifests.rendered.v1` or `ask.render.v1`: the kind is part of it because an ask and a command
may share a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar

import msgspec

import bus.events as language
from bus.identity import Key, shard_of


class EventKind(StrEnum):
    ASK = "ask"
    COMMAND = "cmd"
    FACT = "fact"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A typed, frozen message. Subclasses set `kind`, `name` and say which field is their key."""

    kind: ClassVar[EventKind]
    name: ClassVar[str]

    @property
    def key(self) -> Key:
        raise NotImplementedError

    @property
    def shard(self) -> str:
        """The shard whose holder handles the event: that of its key."""
        return shard_of(self.key.token)

    @property
    def sentence(self) -> str:
        """What happened, without when and to which application; by default the name."""
        return self.name


class Ask(Event, frozen=True, kw_only=True):
    """A request to look at its key again; merged per subject. `name` is `{handler}.v1`."""

    kind: ClassVar[EventKind] = EventKind.ASK


class Command(Event, frozen=True, kw_only=True):
    """A request of a person or the service to do something; never merged. `name` is `{verb}.v1`."""

    kind: ClassVar[EventKind] = EventKind.COMMAND
    id: str
    """The idempotency key, chosen by the requester."""
    actor: str
    """The requester, for the audit: a user name, `service/...`."""


class Fact(Event, frozen=True, kw_only=True):
    """A report of what happened: a public interface. `name` is `{noun}.{verb}.v1`."""

    kind: ClassVar[EventKind] = EventKind.FACT
    reported: ClassVar[bool] = True
    """Whether the service gets it too."""


class UnknownTypeError(Exception):
    """This version has no event of the message's type."""


@cache
def event_types() -> tuple[type[Event], ...]:
    """List every concrete event class, by kind and name."""
    exported = (getattr(language, name) for name in language.__all__)
    concrete = (item for item in exported if isinstance(item, type) and issubclass(item, Event))
    return tuple(sorted((item for item in concrete if "name" in vars(item)), key=wire_type))


def wire_type(event: type[Event] | Event) -> str:
    return f"{event.kind}.{event.name}"


def event_type(text: str) -> type[Event]:
    """Find the class of a wire type; raises UnknownTypeError."""
    known = _by_wire_type().get(text)
    if known is None:
        raise UnknownTypeError(
            f"unknown event type {text[:80]!r}; this version knows {_known_types()}"
        )
    return known


def recorded_event(text: str, body: Mapping[str, Any]) -> Event | None:
    """Decode an event that was recorded as its wire type and its fields; None: another version."""
    try:
        return msgspec.convert(dict(body), event_type(text))
    except (UnknownTypeError, msgspec.ValidationError):
        return None


def subject_words(event: type[Event] | Event) -> tuple[str, ...]:
    """`manifests.rendered.v1` -> `("manifests", "rendered")`."""
    return tuple(event.name.split(".")[:-1])


@cache
def _by_wire_type() -> dict[str, type[Event]]:
    return {wire_type(item): item for item in event_types()}


def _known_types() -> str:
    return ", ".join(_by_wire_type())
