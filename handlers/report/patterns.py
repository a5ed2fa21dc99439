"""Texts that look like a secret wherever they stand: keys, tokens, passwords behind their names.

The last line of defence, for log lines and messages: what is known to be a secret is masked by
known.py, and fields that may hold one are masked whole by redaction.py. Texts are others' and may
be long: no pattern may begin with a run of unknown length, which is tried anew from each place.
"""

from __future__ import annotations

import re
from functools import lru_cache

from handlers.manifest.redact import redact_text

HIDDEN = "(hidden)"

_NAMED = re.compile(
    r"(?i)(?P<name>(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|"
    r"private[_-]?key|credentials?|authorization)[\"']?\s*[=:]\s*[\"']?)"
    r"(?P<scheme>(?:bearer|basic)\s+)?(?P<value>[^\s\"',;&]+)"
)
_BARE = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_\w{20,}"
    r"|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}",
    re.DOTALL,
)
_RUN = re.compile(r"[\w.-]{20,}")
_JWT_SIGN = "eyJ"
_JWT_HEAD, _JWT_BODY = 11, 8
"""Letters that the first and the second part have at least."""
_TOKEN_SIGNS = ("-----", "AKIA", "ASIA", "gh", "glpat-", "xox")
_SHORTEST_TOKEN = 15
_SCHEME = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_SENSITIVE_NAME = re.compile(
    r"(?i)(passw(or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"credentials?|authorization|bearer)$"
)


def masked(text: str) -> str:
    """`text` without what looks like a secret.

    Most texts are short words and cost next to nothing:
    every pattern needs one of a few signs.
    """
    if "@" in text:
        text = redact_text(text)
    if len(text) >= _SHORTEST_TOKEN and any(sign in text for sign in _TOKEN_SIGNS):
        text = _BARE.sub(HIDDEN, text)
    if _JWT_SIGN in text:
        text = _RUN.sub(_without_jwt, text)
    if ":" in text or "=" in text:
        text = _NAMED.sub(rf"\g<name>{HIDDEN}", text)
    return _SCHEME.sub(rf"\1 {HIDDEN}", text) if _has_scheme(text) else text


def _without_jwt(found: re.Match[str]) -> str:
    """Three parts with dots between them, of which the first has `{"` in base64."""
    parts = found[0].split(".")
    shown: list[str] = []
    here = 0
    while here < len(parts):
        head, body = parts[here], "".join(parts[here + 1 : here + 2])
        sign = head.find(_JWT_SIGN)
        whole = here + 2 < len(parts) and len(body) >= _JWT_BODY
        if whole and 0 <= sign <= len(head) - _JWT_HEAD:
            shown.append(head[:sign] + HIDDEN)
            here += 3
        else:
            shown.append(head)
            here += 1
    return ".".join(shown)


def _has_scheme(text: str) -> bool:
    lower = text.lower() if any(blank in text for blank in " \t\n") else ""
    return "bearer" in lower or "basic" in lower


@lru_cache(maxsize=4096)
def is_sensitive(name: str) -> bool:
    """Whether a field of this name is one whose text is a secret, not the name of a Secret."""
    return bool(_SENSITIVE_NAME.search(name))
