"""KnownSecrets: the values of Secrets that we have seen, found again in any text and masked.

The values are not kept: of each only the hash of its beginning, its length and a salted digest, so
that neither a dump of our memory nor a bug in here gives one away. A text is walked once, whatever
the number of values. Short values and plain words are no use: they would mask half of every text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, urlsplit

import msgspec

from handlers.report.patterns import HIDDEN

_HEAD = 6
_SHORTEST = 8
_SHORTEST_LINE = 16
_LIMIT = 50_000
_WORD = re.compile(
    r"[A-Z]?[a-z]{1,12}|[A-Z]{1,12}|[\d.:-]{1,10}|[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(:\d+)?"
)
_PUBLIC = frozenset({"ca.crt", "tls.crt", "namespace"})
_PUBLIC_OF_OURS = frozenset(
    {
        "url",
        "type",
        "name",
        "project",
        "server",
        "username",
        "namespaces",
        "enableLfs",
        "insecure",
        "account",
        "agent",
        "service",
        "key_id",
        "made_at",
    }
)


class KnownSecrets:
    """`salt` keeps digests of one agent from meaning anything elsewhere."""

    def __init__(self, salt: bytes) -> None:
        self.version = 0
        """Grows when something new was learned."""
        self._salt = salt[:64]
        self._lengths: dict[int, tuple[int, ...]] = {}
        self._digests: set[bytes] = set()

    def learn(self, pieces: Iterable[str]) -> None:
        for piece in pieces:
            digest = self._digest(piece)
            if digest in self._digests or len(self._digests) >= _LIMIT:
                continue
            self._digests.add(digest)
            head = hash(piece[:_HEAD])
            lengths = {*self._lengths.get(head, ()), len(piece)}
            self._lengths[head] = tuple(sorted(lengths, reverse=True))
            self.version += 1

    def mask(self, text: str) -> str:
        if not self._lengths or len(text) < _SHORTEST:
            return text
        parts: list[str] = []
        begin = 0
        heads = self._lengths
        for here in range(len(text) - _SHORTEST + 1):
            if hash(text[here : here + _HEAD]) not in heads or here < begin:
                continue
            length = self._found(text, here)
            if length:
                parts += (text[begin:here], HIDDEN)
                begin = here + length
        return "".join((*parts, text[begin:])) if parts else text

    def _found(self, text: str, here: int) -> int:
        for length in self._lengths.get(hash(text[here : here + _HEAD]), ()):
            if self._digest(text[here : here + length]) in self._digests:
                return length
        return 0

    def _digest(self, piece: str) -> bytes:
        raw = piece.encode(errors="surrogatepass")
        return hashlib.blake2b(raw, digest_size=16, key=self._salt).digest()


def pieces_of_secret(data: Mapping[str, str], *, ours: bool = False) -> Iterator[str]:
    """What to look for, of a Secret's `data` (base64). `ours`: of Argo CD's format, with URLs."""
    public = _PUBLIC | _PUBLIC_OF_OURS if ours else _PUBLIC
    for key, encoded in data.items():
        if key not in public and isinstance(encoded, str):
            yield from pieces_of_value(encoded)


def pieces_of_value(encoded: str) -> Iterator[str]:
    """The value, its encodings, its lines and, where it is JSON, the texts in it."""
    try:
        value = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        value = ""
    told = {encoded, value, value.strip(), quote(value, safe=""), *_lines(value), *_texts(value)}
    yield from (piece for piece in told if _telling(piece))


def _lines(value: str) -> Iterator[str]:
    lines = value.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _SHORTEST_LINE)


def _texts(value: str) -> Iterator[str]:
    if value[:1] not in ("{", "["):
        return
    try:
        yield from _leaves(msgspec.json.decode(value))
    except msgspec.DecodeError:
        return


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)


def _telling(piece: str) -> bool:
    if len(piece) < _SHORTEST or _WORD.fullmatch(piece) or piece.startswith("-----"):
        return False
    parts = urlsplit(piece) if "://" in piece else None
    return parts is None or "@" in parts.netloc or bool(parts.query)
