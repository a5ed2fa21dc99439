"""KnownSecrets: finds the values of Secrets that the agent has seen in any text, and masks them.

The values are not kept. Of each value only the hash of its beginning, its length and a salted
digest are kept, so that neither a memory dump nor a bug here reveals one. A text is walked once,
whatever the number of values. A value is found in every form in which programs write it:
hexadecimal, percent-encoded, in base64 at any offset of the encoded text, and twice in base64.

Short values and plain words are not searched for: they would mask half of every text. A plain word
or number is an exception if its key names a secret, it is long enough and it is no common word; it
is then found as a whole word only.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus, urlsplit

import msgspec

from bus.redaction import HIDDEN, is_sensitive
from bus.redaction.names import words_of

_HEAD = 6
_SHORTEST = 8
_SHORTEST_LINE = 16
_SHORTEST_INNER = 10
_MOST_ENCODED = 4096
"""Longer values are keys and files, which are found by their lines."""
LIMIT = 200_000
"""Pieces; beyond it nothing more is learned, and `refused` counts what was not."""
_WORD = re.compile(
    r"[A-Z]?[a-z]{1,12}|[A-Z]{1,12}|[\d.:-]{1,10}|[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(:\d+)?"
)
_COMMON = words_of(
    """
    administrator anonymous authorization boolean changeme cluster-admin configuration container
    database default-token development disabled elasticsearch enabled grafana guest information
    kubernetes localhost mariadb memcached mongodb nextcloud opensearch password postgres
    postgresql prometheus production rabbitmq registry secret-token serviceaccount staging
    standard superuser testing undefined username wordpress
    """
)
_PUBLIC = frozenset({"ca.crt", "tls.crt", "namespace"})
_PUBLIC_OF_ARGO_CD = words_of(
    """
    url type name project server username namespaces enableLfs insecure account agent service
    key_id made_at
    """
)


class KnownSecrets:
    """`salt` keeps digests of one agent from meaning anything elsewhere."""

    def __init__(self, salt: bytes, limit: int = LIMIT) -> None:
        self.version = 0
        """Grows when something new was learned."""
        self.refused = 0
        """Pieces that were not learned, because the limit was reached."""
        self._salt = salt[:64]
        self._limit = limit
        self._lengths: dict[int, tuple[int, ...]] = {}
        self._digests: set[bytes] = set()
        self._words: set[bytes] = set()

    @property
    def size(self) -> int:
        return len(self._digests) + len(self._words)

    @property
    def alarm(self) -> str:
        """A warning for a person; empty while every value that was seen is searched for."""
        if not self.refused:
            return ""
        return (
            f"{self.size} pieces of Secrets are searched for in all that is shown and no more fit: "
            f"{self.refused} are masked by their names and looks only. Let the agent read fewer "
            "Secrets (Role, destination namespaces)."
        )

    def learn(self, pieces: Iterable[str]) -> None:
        for piece in pieces:
            words = _is_word(piece)
            kept = self._words if words else self._digests
            digest = self._digest(piece)
            if digest in kept:
                continue
            if self.size >= self._limit:
                self.refused += 1
                continue
            kept.add(digest)
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
            digest = self._digest(text[here : here + length])
            if digest in self._digests or (
                digest in self._words and _stands_alone(text, here, length)
            ):
                return length
        return 0

    def _digest(self, piece: str) -> bytes:
        raw = piece.encode(errors="surrogatepass")
        return hashlib.blake2b(raw, digest_size=16, key=self._salt).digest()


def pieces_of_secret(data: Mapping[str, str], *, ours: bool = False) -> Iterator[str]:
    """List what to search for of a Secret's `data` (base64).

    `ours`: the Secret has Argo CD's format, whose URLs and names are public.
    """
    public = _PUBLIC | _PUBLIC_OF_ARGO_CD if ours else _PUBLIC
    for key, encoded in data.items():
        if key not in public and isinstance(encoded, str):
            yield from pieces_of_value(encoded, word=is_sensitive(key))


def pieces_of_value(encoded: str, *, word: bool = False) -> Iterator[str]:
    """List a value, its encodings, its lines and, where it is JSON, the texts in it.

    `word`: the value is a secret by its key, even where it is a plain word or number.
    """
    raw = _decoded(encoded)
    value = raw.decode(errors="replace") if raw else ""
    value = "" if "\ufffd" in value else value
    texts = {encoded, value, value.strip(), *_lines(value), *_texts(value)}
    pieces = {piece for piece in texts if _is_distinct(piece)}
    if word and _is_distinct_word(value.strip()):
        pieces.add(value.strip())
    if value.strip() in pieces or (raw and not value):
        pieces |= (
            _encodings(raw) | _encodings(value.strip().encode()) | _encodings(encoded.encode())
        )
    yield from pieces


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _encodings(raw: bytes) -> set[str]:
    """The encodings of a value; of base64 the part that does not depend on its neighbours."""
    if not _SHORTEST <= len(raw) <= _MOST_ENCODED:
        return set()
    forms = {raw.hex(), raw.hex().upper(), quote(raw, safe=""), quote_plus(raw)}
    for offset in range(3):
        written = base64.b64encode(b"\0" * offset + raw)
        begin = -(-offset * 4 // 3)
        inner = written[begin : (offset + len(raw)) * 8 // 6].decode()
        if len(inner) >= _SHORTEST_INNER:
            forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= _SHORTEST and not _WORD.fullmatch(form)}


def _lines(value: str) -> Iterator[str]:
    lines = value.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _SHORTEST_LINE)


def _texts(value: str) -> Iterator[str]:
    if value[:1] not in ("{", "["):
        return
    try:
        yield from _leaves(msgspec.json.decode(value))
    except (msgspec.DecodeError, RecursionError):
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


def _is_distinct(piece: str) -> bool:
    if len(piece) < _SHORTEST or _WORD.fullmatch(piece) or piece.startswith("-----"):
        return False
    parts = urlsplit(piece) if "://" in piece else None
    return parts is None or "@" in parts.netloc or bool(parts.query)


def _is_word(piece: str) -> bool:
    return _WORD.fullmatch(piece) is not None


def _is_distinct_word(value: str) -> bool:
    plain = len(value) >= _SHORTEST and value.isalnum() and value.isascii()
    return plain and value.lower() not in _COMMON


def _stands_alone(text: str, here: int, length: int) -> bool:
    before, after = text[here - 1 : here], text[here + length : here + length + 1]
    return not (here and (before.isalnum() or before in "_-")) and not (
        after.isalnum() or (bool(after) and after in "_-")
    )
