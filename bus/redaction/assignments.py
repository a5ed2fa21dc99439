"""Assignments in texts: the value behind a sensitive name, whichever way it is written. Pure.

`password=x`, `"apiKey": "x y"`, `tokens: [a, b]`, `--client-secret x`, `mysql -px`, `curl -u me:x`.
Each sign of assignment is looked at once and the name before it is read backwards, at most 64
letters of it, so that a long text costs one walk.
"""

from __future__ import annotations

import re

from bus.redaction.credentials import HIDDEN
from bus.redaction.names import is_sensitive

_SIGN = re.compile(r"[=:]")
_NAME_BACKWARDS = re.compile(r"[ \t]{0,8}[\"'\\\]]{0,4}([\w./-]{1,64})")
_VALUE = re.compile(r"[ \t]*(?:(?:bearer|basic|digest|negotiate|token)[ \t]+)?", re.IGNORECASE)
_QUOTE = re.compile(r"\\*[\"']")
_WORD = re.compile(r"[^\s\"',;&]+(?:,[^\s\"',;&:=]+(?=[\s\"',;&]|\Z))*")
_MASK = re.compile(r"\(hidden[^()]{0,24}\)")
_FLAG = re.compile(r"(?<![^\s\"'])--?([A-Za-z][\w.-]{1,63})([ \t]+)([\"']?)(?!-)([^\s\"']+)")
_SQL = re.compile(r"(?<!\S)(-p)([^\s\"'=]+)")
_LOGIN = re.compile(
    r"(?<!\S)(-u|--user|--proxy-user)([ \t=]+)([\"']?)([^\s:\"']{1,256}:)([^\s\"']+)"
)
_PROGRAMS_WITH_P = re.compile(r"\b(?:mysql|mariadb|sshpass|mycli|7z)\w*\b")
_LINE = r"\b[^\n|;]{0,200}?[ \t]"
_PROGRAM_WITH_SHORT = re.compile(
    rf"(?<!\S)(sshpass{_LINE}-p|redis-cli{_LINE}-a|docker[ \t]+login{_LINE}-p|mongo\w*{_LINE}-p)"
    r"([ \t]+)(\S+)"
)
_CLOSING = {"[": "]", "{": "}"}


def without_assignments(text: str) -> str:
    if ":" in text or "=" in text:
        text = _assigned(text)
    return without_flags(text) if "-" in text else text


def without_flags(text: str) -> str:
    """Mask what command-line flags are given, by their names or by the program's habit."""
    text = _FLAG.sub(_flag, text)
    if ":" in text:
        text = _LOGIN.sub(rf"\1\2\3\4{HIDDEN}", text)
    if takes_password_with_p(text):
        text = _SQL.sub(rf"\1{HIDDEN}", text)
    if "sshpass" in text or "redis-cli" in text or "login" in text or "mongo" in text:
        text = _PROGRAM_WITH_SHORT.sub(rf"\1\2{HIDDEN}", text)
    return text


def takes_password_with_p(text: str) -> bool:
    """Tell whether a program is named in `text` that takes its password as `-pVALUE`."""
    return _PROGRAMS_WITH_P.search(text) is not None


def _assigned(text: str) -> str:
    parts: list[str] = []
    begin = 0
    for sign in _SIGN.finditer(text):
        here = sign.end()
        if here <= begin or not _is_named(text, sign.start()):
            continue
        start, end = _extent(text, here)
        if end > start and not _MASK.fullmatch(text, start, end):
            parts += (text[begin:start], HIDDEN)
            begin = end
    return "".join((*parts, text[begin:])) if parts else text


def _is_named(text: str, here: int) -> bool:
    if text[here : here + 3] == "://":
        return False
    found = _NAME_BACKWARDS.match(text[max(0, here - 80) : here][::-1])
    return found is not None and is_sensitive(found[1][::-1])


def _extent(text: str, here: int) -> tuple[int, int]:
    """Where the value begins and ends: a quoted text, a list or map on its line, or a word."""
    before = _VALUE.match(text, here)
    here = before.end() if before else here
    quote = _QUOTE.match(text, here)
    if quote:
        end = text.find(quote[0], quote.end())
        return quote.end(), end if end >= 0 else _line_end(text, quote.end())
    if text[here : here + 1] in _CLOSING:
        return here, _bracket_end(text, here)
    word = _WORD.match(text, here)
    return here, word.end() if word else here


def _line_end(text: str, here: int) -> int:
    end = text.find("\n", here)
    return end if end >= 0 else len(text)


def _bracket_end(text: str, here: int) -> int:
    opening, closing = text[here], _CLOSING[text[here]]
    depth = 0
    for place in range(here, len(text)):
        if text[place] == opening:
            depth += 1
        elif text[place] == closing:
            depth -= 1
            if depth == 0:
                return place + 1
        elif text[place] == "\n":
            return place
    return len(text)


def _flag(found: re.Match[str]) -> str:
    name, blank, quote, _ = found.groups()
    if not is_sensitive(name):
        return found[0]
    dashes = found[0][: found[0].index(name)]
    return f"{dashes}{name}{blank}{quote}{HIDDEN}"
