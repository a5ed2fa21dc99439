"""Objects as YAML documents that people can read and every parser reads alike. Pure.

Parsers differ in which plain words they take for a truth, a number or a time (`yes`, `y`, `1e3`,
`0o17`, `12:30`). So a text is plain only where it begins with a letter and is none of these words;
any other is quoted, and one of several lines is a block. Keys are sorted, the indent is two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import yaml

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*(?: [A-Za-z0-9._/-]+)*|/[A-Za-z0-9._/-]+")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]*")
_WIDEST = 2**31


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  PyYAML asks
        """Write each value where it stands: an anchor says nothing to a reader."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    if "\n" in text:
        return "|" if _is_block(text) else '"'
    return None if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else '"'


def _is_block(text: str) -> bool:
    """Whether every parser reads the text alike from a block: no odd white space, no odd end."""
    if text[0] in " \n" or text.endswith("\n\n"):
        return False
    return all(line == line.rstrip() and _LINE.fullmatch(line) for line in text.split("\n"))


_Dumper.add_representer(str, _text)


def manifest_yaml(objects: Iterable[object]) -> bytes:
    """Write the objects in their order, one document each."""
    text = yaml.dump_all(
        objects,
        Dumper=_Dumper,
        explicit_start=True,
        default_flow_style=False,
        allow_unicode=True,
        width=_WIDEST,
    )
    return str(text).encode()
