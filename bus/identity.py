"""Keys name applications, repositories and objects; ids name events and spans.

A key has a text form for people and logs, and a `token` for subjects, because names in Kubernetes
may hold dots and URLs may hold anything. Keys never change their token: it is on the wire.

Event ids are UUIDs: new ones sort by time (version 7), derived ones repeat (version 8). An event
that is published again because its cause was handled again gets the same id, so that a subscriber
can drop what it has seen; RFC 9562 gives both layouts.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from base64 import b32encode
from typing import NewType, Protocol

import msgspec

from bus.repository_url import RepositoryUrl

SHARDS = 64
SHARD_NAMES = tuple(f"{number:02x}" for number in range(SHARDS))

Revision = NewType("Revision", str)
"""A commit id (40 hex digits) or, for charts, an exact version."""

Digest = NewType("Digest", str)
"""`sha256:<64 hex digits>` of stored bytes."""

NO_REVISION = Revision("")
NO_DIGEST = Digest("")


def digest_of(content: bytes) -> Digest:
    return Digest("sha256:" + hashlib.sha256(content).hexdigest())


def token_of(text: str) -> str:
    """Make a short opaque word for `text`: 16 lower-case letters of base32 (80 bits of BLAKE2b)."""
    raw = hashlib.blake2b(text.encode(), digest_size=10).digest()
    return b32encode(raw).decode().lower()


def shard_of(token: str) -> str:
    """Name the shard that `token` belongs to: two hex digits, `00` to `3f`."""
    raw = hashlib.blake2b(token.encode(), digest_size=4).digest()
    return f"{int.from_bytes(raw) % SHARDS:02x}"


class Key(Protocol):
    """The name of anything that an event can be about."""

    @property
    def token(self) -> str: ...


class AppKey(msgspec.Struct, frozen=True, order=True):
    """An Application: its own namespace and name (not its destination's)."""

    namespace: str
    name: str

    @property
    def token(self) -> str:
        return token_of(f"app:{self.namespace}/{self.name}")

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> AppKey:
        """Read `namespace/name`; raises ValueError with the expected form."""
        namespace, slash, name = text.partition("/")
        if not (slash and namespace and name) or "/" in name:
            raise ValueError(f"{text!r} is not an application key; expected namespace/name")
        return cls(namespace, name)


class RepositoryKey(msgspec.Struct, frozen=True, order=True):
    """A repository by the text of its RepositoryUrl: every spelling is one key."""

    url: str

    @property
    def token(self) -> str:
        return token_of(f"repo:{self.url}")

    def __str__(self) -> str:
        return self.url

    @classmethod
    def of(cls, url: str) -> RepositoryKey:
        """Make the key of a URL; raises RepositoryUrlError where it names no certain repository."""
        return cls(str(RepositoryUrl.parse(url)))


class HydratedBranch(msgspec.Struct, frozen=True, order=True):
    """A branch that rendered manifests are committed to, and the commits that they are made of."""

    project: str
    dry_repository: RepositoryKey
    dry_revision: str
    """The target revision whose commits are rendered."""
    repository: RepositoryKey
    branch: str

    @property
    def token(self) -> str:
        return token_of(f"branch:{self}")

    def __str__(self) -> str:
        dry = f"{self.dry_repository} {self.dry_revision}"
        return f"{self.project} {dry} -> {self.repository} {self.branch}"


class ResourceKey(msgspec.Struct, frozen=True, order=True):
    """An object in a cluster; `namespace` is empty for cluster-scoped kinds.

    No version: the same object can be read through several.
    """

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def place(self) -> tuple[str, str, str]:
        """Group, kind and namespace: objects of one place differ by their names only."""
        return self.group, self.kind, self.namespace

    @property
    def token(self) -> str:
        return token_of(f"resource:{self}")

    def __str__(self) -> str:
        """`apps/Deployment/shop/web`, `/Namespace//shop`."""
        return f"{self.group}/{self.kind}/{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> ResourceKey:
        parts = text.split("/")
        if len(parts) != 4:
            raise ValueError(f"{text!r} is not a resource; expected group/kind/namespace/name")
        return cls(*parts)


_RANDOM_BITS = 74


def new_id() -> str:
    """Make a UUID of this moment: 48 bits of milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    noise = int.from_bytes(os.urandom(10)) >> (80 - _RANDOM_BITS)
    return _uuid(version=7, head=milliseconds, noise=noise)


def derived_id(seed: str) -> str:
    """Make the UUID of `seed`: always the same for the same seed."""
    raw = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=16).digest())
    return _uuid(version=8, head=raw >> 80, noise=raw & ((1 << _RANDOM_BITS) - 1))


def new_span_id() -> str:
    return os.urandom(8).hex()


def new_trace_id() -> str:
    return os.urandom(16).hex()


def _uuid(*, version: int, head: int, noise: int) -> str:
    high, low = noise >> 62, noise & ((1 << 62) - 1)
    return str(uuid.UUID(int=head << 80 | version << 76 | high << 64 | 0b10 << 62 | low))
