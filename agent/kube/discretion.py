"""What a refusal says without the values of the Secret that was refused. Pure.

An API server may quote what it did not like, and its words go into status, facts and logs.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator

from handlers.manifest.access import Manifest, mapping
from handlers.manifest.redact import is_secret
from handlers.ports import ApplyRefusedError

_MASK = "++++++++"
_SHORTEST = 3


def discreet(error: ApplyRefusedError, manifest: Manifest) -> ApplyRefusedError:
    if not is_secret(manifest):
        return error
    message = error.message
    for value in sorted(_values(manifest), key=len, reverse=True):
        message = message.replace(value, _MASK)
    return type(error)(message, code=error.code, permanent=error.permanent)


def _values(manifest: Manifest) -> Iterator[str]:
    """As written, and as the server decodes it; shorter ones would mask ordinary words."""
    for leaf in _leaves((mapping(manifest, "data"), mapping(manifest, "stringData"))):
        for text in (leaf, _decoded(leaf)):
            if len(text) >= _SHORTEST:
                yield text


def _leaves(value: object, depth: int = 0) -> Iterator[str]:
    """All texts in `value`. What a wrong Secret nests is secret too, the names included."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from _leaves((name, inner) if depth > 1 else inner, depth + 1)
        case list() | tuple():
            for inner in value:
                yield from _leaves(inner, depth + 1)
        case _:
            yield str(value)


def _decoded(value: str) -> str:
    try:
        return b64decode(value, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return ""
