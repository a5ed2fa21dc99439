"""Credentials that are known by their looks: keys, tokens of hosts and clouds, user info in URLs.

Texts are others' and may be long: no pattern may begin with a run of unknown length, which would be
tried anew from each place. All of them are searched in one walk.
"""

from __future__ import annotations

import re

HIDDEN = "(hidden)"

_USER_INFO = re.compile(r"(?<=://)[^/\s]+@")
_TOKENS = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"
    r"|\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"  # AWS
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
    r"|\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|imt|agent|ffct)-[\w.-]{16,}"  # GitLab
    r"|\bxox[abceoprs]-[\w-]{10,}|\bxapp-[\w-]{10,}|hooks\.slack\.com/services/[\w/]{20,}"
    r"|\bg[te]_[A-Za-z0-9_-]{16,}"  # API and enrolment tokens of this project's service
    r"|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w-]{16,}|\brubygems_[0-9a-f]{20,}"
    r"|\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[\w+/=-]{16,}"  # Stripe
    r"|\bhv[sbr]\.[\w-]{16,}|\bs\.[A-Za-z0-9]{24}\b"  # Vault
    r"|\bAIza[\w-]{30,}|\bya29\.[\w.-]{16,}|\bGOCSPX-[\w-]{16,}"  # Google
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}"  # SendGrid
    r"|\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\bdop_v1_[0-9a-f]{20,}|\bdckr_pat_[\w-]{16,}|\bdapi[0-9a-f]{32}\b"
    r"|\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{20,}|\bsq0(?:atp|csp)-[\w-]{16,}"
    r"|\bgls?a?c?_[A-Za-z0-9_=]{24,}|\bNRAK-[A-Z0-9]{20,}|\blin_api_[A-Za-z0-9]{20,}"
    r"|\bATATT3[\w=-]{20,}|\bdp\.(?:pt|st|ct)\.[\w.-]{20,}|\bAGE-SECRET-KEY-1[0-9A-Z]{20,}"
    r"|\bSK[0-9a-f]{32}\b|\bkey-[0-9a-f]{32}\b|\bPMAK-[0-9a-f-]{24,}|\bsntrys_[\w+/=]{20,}",
    re.DOTALL,
)
_TOKEN_SIGNS = (
    *(
        "PRIVATE KEY",
        "github_pat_",
        "AKIA",
        "ASIA",
        "ABIA",
        "ACCA",
        "gh",
        "gl",
        "xox",
        "xapp-",
        "slack.com",
    ),
    *("gt_", "ge_", "npm_", "pypi-", "rubygems_", "k_live_", "k_test_", "whsec_", "hvs.", "hvb."),
    *("hvr.", "s.", "AIza", "ya29.", "GOCSPX-", "SG.", "sk-", "hf_", "dop_v1_", "dckr_pat_"),
    *("dapi", "shp", "sq0", "NRAK-", "lin_api_", "ATATT3", "dp.", "AGE-SECRET", "SK", "key-"),
    *("PMAK-", "sntrys_"),
)
_SHORTEST_TOKEN = 15
_RUN = re.compile(r"[\w.-]{20,}")
_JWT_SIGN = "eyJ"
_JWT_HEAD, _JWT_BODY = 11, 8
_SCHEME = re.compile(r"(?i)\b(bearer|basic)(\s+)([^\s\"',;]{4,})")
_WORD_OF_SCHEME = re.compile(
    r"(?i)(?:auth|authentication|authorization|credentials?|login|token)\b"
)
_LONG_BASE64 = re.compile(r"[A-Za-z0-9+/]{64,}={0,2}")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
_KEY_TEXT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\n")
_OPAQUE = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
_CLASS_CHANGE = re.compile(r"[a-z][^a-z]|[A-Z][^A-Z]|[0-9][^0-9]")


def without_user_info(text: str) -> str:
    """Take the user and the password out of every URL in `text`."""
    return _USER_INFO.sub("", text) if "@" in text else text


def failure_text(error: Exception) -> str:
    """Describe a failed request; the refusal of a proxy quotes its URL, whose login is left out."""
    return without_user_info(str(error)) or type(error).__name__


def without_tokens(text: str) -> str:
    """Mask keys, tokens and logins that stand in `text` without a name."""
    if len(text) >= _SHORTEST_TOKEN and any(sign in text for sign in _TOKEN_SIGNS):
        text = _TOKENS.sub(HIDDEN, text)
    if "-----END" in text:
        text = _without_end_of_key(text)
    if _JWT_SIGN in text:
        text = _RUN.sub(_without_jwt, text)
    if len(text) >= 64:
        text = _LONG_BASE64.sub(_without_base64, text)
    return _SCHEME.sub(_without_login, text) if _has_scheme(text) else text


def looks_opaque(value: str) -> bool:
    """Tell whether the whole `value` looks drawn at random: mixed letters and digits, no words.

    Hexadecimal digests, commits, UUIDs, image tags and camelCase words are not opaque.
    """
    if len(value) > 512 or not _OPAQUE.fullmatch(value):
        return False
    classes = (str.islower, str.isupper, str.isdigit)
    if not all(any(test(sign) for sign in value) for test in classes):
        return False
    digits = sum(map(str.isdigit, value))
    changes = sum(_CLASS_CHANGE.match(value, at) is not None for at in range(len(value) - 1))
    return digits >= 2 and changes >= 0.5 * len(value) and value.count("-") < 3


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


def _without_end_of_key(text: str) -> str:
    """The last piece of a private key whose beginning was in an earlier text."""
    parts: list[str] = []
    begin = 0
    for end in _KEY_END.finditer(text):
        here = end.start()
        while here > begin and text[here - 1] in _KEY_TEXT:
            here -= 1
        parts += (text[begin:here], HIDDEN)
        begin = end.end()
    return "".join((*parts, text[begin:]))


def _without_base64(found: re.Match[str]) -> str:
    """A line of a key, by its length and mixture: a path has slashes, a digest no capitals."""
    run = found[0]
    mixed = not (run.islower() or run.isupper()) and any(map(str.isdigit, run[:512]))
    return HIDDEN if mixed and run.count("/") <= len(run) // 12 else run


def _without_login(found: re.Match[str]) -> str:
    scheme, blank, value = found.groups()
    if _WORD_OF_SCHEME.match(value) or value.startswith(HIDDEN):
        return found[0]
    return f"{scheme}{blank}{HIDDEN}"


def _has_scheme(text: str) -> bool:
    lower = text.lower() if any(blank in text for blank in " \t\n") else ""
    return "bearer" in lower or "basic" in lower
