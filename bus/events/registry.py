"""The registry: name on the wire <-> class <-> the words of its subject.

A wire type is `{kind}.{name}`, e.g. `fact.manifests.rendered.v1` or `ask.render.v1`: the kind is
part of it because an ask and a command may share a name. A subject never holds the version.
"""

from __future__ import annotations

from functools import cache

import bus.events as language
from bus.events.event import Event


class UnknownTypeError(Exception):
    """A message of a type that this version does not speak."""


@cache
def event_types() -> tuple[type[Event], ...]:
    """Every concrete event, by kind and name."""
    said = (getattr(language, name) for name in language.__all__)
    concrete = (item for item in said if isinstance(item, type) and issubclass(item, Event))
    return tuple(sorted((item for item in concrete if "name" in vars(item)), key=wire_type))


def wire_type(event: type[Event] | Event) -> str:
    return f"{event.kind}.{event.name}"


def event_type(text: str) -> type[Event]:
    """The class of a wire type; raises UnknownTypeError."""
    known = _by_wire_type().get(text)
    if known is None:
        raise UnknownTypeError(f"unknown event type {text[:80]!r}; this version speaks {_spoken()}")
    return known


def subject_words(event: type[Event] | Event) -> tuple[str, ...]:
    """`manifests.rendered.v1` -> `("manifests", "rendered")`."""
    return tuple(event.name.split(".")[:-1])


@cache
def _by_wire_type() -> dict[str, type[Event]]:
    return {wire_type(item): item for item in event_types()}


def _spoken() -> str:
    return ", ".join(_by_wire_type())
