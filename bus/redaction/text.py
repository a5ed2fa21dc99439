"""Texts that hold a secret somewhere: log lines, messages, commit texts, fields, YAML. Pure.

The last line of defence. What is known to be a secret is masked by
`handlers/report/known_secrets.py`, and fields that hold one are masked whole by
`handlers/report/redaction.py`.

Kustomize patches and Helm values are texts of YAML, at times with templates in them that no parser
reads. What stands below a sensitive key there, over several lines, is found line by line, by the
indentation: the number of lines stays the same, so that an edited text can be given its hidden
values back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bus.redaction.assignments import without_assignments
from bus.redaction.credentials import HIDDEN, without_tokens, without_user_info
from bus.redaction.names import is_sensitive, is_sensitive_path

_LINE = re.compile(r"([ ]*(?:-[ ]+)*)([\"']?)([\w./$-]{1,200})\2[ ]*:(?:[ ]+(.*))?$")
_ENTRY = re.compile(r"[ ]*-(?:[ ]|$)")
_KIND = re.compile(r"[ ]*(?:-[ ]+)?kind:[ ]*[\"']?(?:Secret|ConfigMap)[\"']?[ ]*$")
_ALWAYS = frozenset({"stringData", "binaryData"})
_NAMES = frozenset({"name", "key", "path", "header"})
_VALUES = frozenset({"value", "values", "content", "default"})
_NEIGHBOURS = 40
_SHOWN = re.compile(r"(?:null|true|false|~|\(hidden[^()]{0,24}\)|\$\{\{?.*\}|\{\{.*\}\})?\s*")


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    column: int
    key: str = ""
    rest: str = ""
    entry: bool = False
    """The line begins an entry of a list."""


def without_blocks(text: str) -> str:
    if "\n" not in text or ":" not in text:
        return text
    lines = [_read(line) for line in text.split("\n")]
    chosen = _behind_names(lines)
    with_data = any(_KIND.match(line.text) for line in lines)
    shown: list[str] = []
    column = -1
    """Of the sensitive key above; what is further right belongs to it."""
    for number, line in enumerate(lines):
        if column >= 0 and _is_below(line, column):
            shown.append(_hidden(line))
            continue
        column = -1
        if number in chosen or _is_sensitive(line, with_data=with_data):
            column = line.column
            shown.append(_hidden(line))
        else:
            shown.append(line.text)
    return "\n".join(shown)


def _read(text: str) -> _Line:
    found = _LINE.match(text)
    entry = _ENTRY.match(text) is not None
    if found is None:
        return _Line(text, len(text) - len(text.lstrip(" ")), entry=entry)
    return _Line(text, len(found[1]), found[3], found[4] or "", entry)


def _is_sensitive(line: _Line, *, with_data: bool) -> bool:
    if not line.key:
        return False
    if line.key in _ALWAYS or (with_data and line.key == "data"):
        return True
    return is_sensitive(line.key)


def _is_below(line: _Line, column: int) -> bool:
    if not line.text.strip():
        return True
    indent = len(line.text) - len(line.text.lstrip(" "))
    return indent > column or (indent == column and line.entry)


def _hidden(line: _Line) -> str:
    """The key and what opens a block stay, so that the text keeps its form."""
    if not line.text.strip():
        return line.text
    if not line.key:
        lead = re.match(r"[ ]*(?:-[ ]+)*", line.text)
        return (lead[0] if lead else "") + HIDDEN
    if line.rest[:1] in ("|", ">") or _SHOWN.fullmatch(line.rest):
        return line.text
    return line.text[: len(line.text) - len(line.rest)] + HIDDEN


def _behind_names(lines: Sequence[_Line]) -> set[int]:
    """The values of entries like `{name: PASSWORD, value: x}` and `{path: /a/token, value: x}`."""
    chosen: set[int] = set()
    for number, line in enumerate(lines):
        if line.key not in _NAMES:
            continue
        name = line.rest.strip().strip("\"'")
        if is_sensitive_path(name) if line.key == "path" else is_sensitive(name):
            chosen.update(_values_around(lines, number))
    return chosen


def _values_around(lines: Sequence[_Line], number: int) -> list[int]:
    """Lines of the same entry as line `number`; entries are short, and so is the search."""
    column = lines[number].column
    found: list[int] = []
    for place in range(number + 1, min(len(lines), number + _NEIGHBOURS)):
        line = lines[place]
        if line.column < column or (line.entry and line.column == column):
            break
        found += [place] if line.column == column and line.key in _VALUES else []
    place = number
    while not lines[place].entry and 0 < place > number - _NEIGHBOURS:
        place -= 1
        if lines[place].column < column:
            break
        found += [place] if lines[place].column == column and lines[place].key in _VALUES else []
    return found


def masked(text: str) -> str:
    """Mask what looks like a secret in `text`.

    Most texts are short words and cost next to nothing: every pattern needs one of a few signs.
    """
    text = without_tokens(without_user_info(text))
    if "\n" in text:
        text = without_blocks(text)
    return without_assignments(text)
