"""Trusted: a certificate, known host or public key as it is reported: names and fingerprints only.

The text of the ConfigMap is never reported: a person may have put a private key where a public one
belongs. An entry that cannot be read is reported with its problem, so that it can be mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

MOST = 1000
"""The most entries of one ConfigMap that are reported."""

Reader = Callable[[Mapping[str, str]], Iterator["Trusted"]]
"""Reads the data of a ConfigMap into its trusted entries."""


class Trusted(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One trusted entry; `name` is unique in its kind and holds no slash."""

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
