"""Names of things: frozen values with one way to write them and one way to read them.

A key's text form is for people and logs; its `token` is what goes into a subject, because names
in Kubernetes may hold dots and URLs may hold anything. Keys never change their token: it is on the
wire.
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from typing import NewType, Protocol

import msgspec

from bus.repository_url import RepositoryUrl

SHARDS = 64

Revision = NewType("Revision", str)
"""A commit id (40 hex digits) or, for charts, an exact version."""

Digest = NewType("Digest", str)
"""`sha256:<64 hex digits>` of stored bytes."""

NO_REVISION = Revision("")
NO_DIGEST = Digest("")


def digest_of(content: bytes) -> Digest:
    return Digest("sha256:" + hashlib.sha256(content).hexdigest())


def token_of(text: str) -> str:
    """A short opaque word for `text`: 16 characters of base32, lower case (80 bits of BLAKE2b)."""
    raw = hashlib.blake2b(text.encode(), digest_size=10).digest()
    return b32encode(raw).decode().lower()


def shard_of(token: str) -> str:
    """The part of the keys that `token` belongs to: two hex digits, `00` to `3f`."""
    raw = hashlib.blake2b(token.encode(), digest_size=4).digest()
    return f"{int.from_bytes(raw) % SHARDS:02x}"


class Key(Protocol):
    """Whatever an event can be about."""

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
        """Raises RepositoryUrlError where `url` names no repository for certain."""
        return cls(str(RepositoryUrl.parse(url)))


class ResourceKey(msgspec.Struct, frozen=True, order=True):
    """An object in a cluster; `namespace` is empty for cluster-scoped kinds.

    No version: the same object can be read through several.
    """

    group: str
    kind: str
    namespace: str
    name: str

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
