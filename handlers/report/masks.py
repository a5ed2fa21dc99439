"""Masks: texts in place of hidden values that show a change, but not the value. Pure.

The fingerprint in a mask is keyed by the agent, the object and the path of the field: the same text
has another fingerprint anywhere else, so nobody can test guesses in a field of their own. Short
values have no fingerprint, because enough guesses in the field itself would find them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

import msgspec

from bus.redaction import HIDDEN
from handlers.manifest import access
from handlers.manifest.access import Manifest

_FINGERPRINT = 8
_SHORTEST = 24
"""Characters; of base64, as in a Secret's data, that is 18 bytes."""
MASK = re.compile(r"\(hidden(:[0-9a-f]{8}|, value \d+)?\)")

Path = tuple[str, ...]
Seen = dict[Path, list[bytes]]
"""The digests of the values that one comparison has met at each path, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    key: bytes
    scope: str = ""
    """The object that the values belong to."""
    seen: Seen | None = None
    """Of a comparison: short values that differ get masks that differ, by number."""

    def of(self, value: object, path: Path) -> str:
        """Mask a whole value; a mask stays as it is."""
        if isinstance(value, str) and MASK.fullmatch(value):
            return value
        plain = value.encode(errors="surrogatepass") if isinstance(value, str) else _encoded(value)
        digest = self._digest(plain, path)
        if len(plain) >= _SHORTEST:
            return f"(hidden:{digest.hex()[:_FINGERPRINT]})"
        number = self._number(digest, path)
        return f"(hidden, value {number})" if number > 1 else HIDDEN

    def beside(self, value: str, shown: str, path: Path) -> str:
        """Mark a text with hidden parts, so that two values in one comparison read differently."""
        if self.seen is None or shown == value:
            return shown
        number = self._number(self._digest(value.encode(errors="surrogatepass"), path), path)
        return f"{shown} (value {number})" if number > 1 else shown

    def _digest(self, plain: bytes, path: Path) -> bytes:
        place = _encoded((self.scope, *path))
        return hmac.digest(hmac.digest(self.key, place, hashlib.sha256), plain, hashlib.sha256)

    def _number(self, digest: bytes, path: Path) -> int:
        if self.seen is None:
            return 1
        met = self.seen.setdefault(path, [])
        if digest not in met:
            met.append(digest)
        return met.index(digest) + 1


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=str)


def identity_of(manifest: Manifest) -> str:
    """The identity by which masks are keyed: group, kind, namespace, name."""
    kind = f"{access.group(manifest)}/{access.kind(manifest)}"
    return f"{kind}/{access.namespace(manifest)}/{access.name(manifest)}"
