"""Something that is trusted, as it may be told: names and fingerprints, never what was written.

Whoever puts a private key where a public one belongs must not find it shown anywhere. What cannot
be read is told as well, with its problem, so that somebody can mend it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

CERTIFICATE = "RepositoryCertificate"
KEY = "GnuPGKey"
MOST = 1000
"""Entries of one ConfigMap that are told."""

Reader = Callable[[Mapping[str, str]], Iterator["Trusted"]]
"""The data of a ConfigMap -> what it trusts."""


class Trusted(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`name` is unique among its kind, and holds no slash."""

    kind: str
    name: str
    server_name: str = ""
    key_id: str = ""
    type: str = ""
    """Of a certificate `https` or `ssh`; of a key its algorithm."""
    sub_type: str = ""
    """The algorithm of a certificate's or host's key."""
    fingerprint: str = ""
    info: str = ""
    """The subject of a certificate, the owner of a key."""
    expires_at: str = ""
    problem: str = ""
