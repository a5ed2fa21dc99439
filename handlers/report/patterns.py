"""Texts that look like a secret wherever they stand: keys, tokens, passwords behind their names.

The last line of defence, for log lines and messages: what is known to be a secret is masked by
known.py, and fields that may hold one are masked whole by redaction.py.
"""

from __future__ import annotations

import re
from functools import lru_cache

from handlers.manifest.redact import redact_text

HIDDEN = "(hidden)"

_NAMED = re.compile(
    r"(?i)(?P<name>[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|"
    r"private[_-]?key|credentials?|authorization)[\"']?\s*[=:]\s*[\"']?)"
    r"(?P<scheme>(?:bearer|basic)\s+)?(?P<value>[^\s\"',;&]+)"
)
_BARE = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_\w{20,}"
    r"|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}",
    re.DOTALL,
)
_TOKEN_SIGNS = ("-----", "eyJ", "AKIA", "ASIA", "gh", "glpat-", "xox")
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
    if ":" in text or "=" in text:
        text = _NAMED.sub(rf"\g<name>{HIDDEN}", text)
    return _SCHEME.sub(rf"\1 {HIDDEN}", text) if _has_scheme(text) else text


def _has_scheme(text: str) -> bool:
    lower = text.lower() if any(blank in text for blank in " \t\n") else ""
    return "bearer" in lower or "basic" in lower


@lru_cache(maxsize=4096)
def is_sensitive(name: str) -> bool:
    """Whether a field of this name is one whose text is a secret, not the name of a Secret."""
    return bool(_SENSITIVE_NAME.search(name))
