"""What every event has in common: a kind, a name on the wire, and a key.

The name holds the version (`manifests.rendered.v1`), the subject never does. A new meaning is a new
version and a new class; a new optional field is not.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

import msgspec

from bus.identity import Key


class Kind(StrEnum):
    ASK = "ask"
    COMMAND = "cmd"
    FACT = "fact"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A typed, frozen message. Subclasses set `kind`, `name` and say which field is their key."""

    kind: ClassVar[Kind]
    name: ClassVar[str]

    @property
    def key(self) -> Key:
        raise NotImplementedError


class Ask(Event, frozen=True, kw_only=True):
    """Look at X again: merged, only the newest of a subject waits. `name` is `{room}.v1`."""

    kind: ClassVar[Kind] = Kind.ASK


class Command(Event, frozen=True, kw_only=True):
    """Do X, says a person or the service: never merged. `name` is `{verb}.v1`."""

    kind: ClassVar[Kind] = Kind.COMMAND
    id: str
    """The idempotency key, given by who asks."""
    actor: str
    """Who asked, in words for the audit: a user name, `service/...`."""


class Fact(Event, frozen=True, kw_only=True):
    """X happened, for whoever cares: a public interface. `name` is `{noun}.{verb}.v1`."""

    kind: ClassVar[Kind] = Kind.FACT
