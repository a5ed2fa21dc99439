"""The words that no name of this tree may hold: what the field has a word for goes by that word.

A word counts as part of a name (`told_again`, `_SAID`). A test's own name is a sentence, and no
rule applies to it; nor does one apply to names that others chose, since only definitions count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_PRIVATE = """
    calling clazz courier desk doing doorman endings far farend forgotten fulfilment given heeding
    house keeping ladder looking moment moments near outlook pace pulse room rooms said say says
    sight silence standing switchboard talk tell telling tells told unsaid wish world worlds
"""
_NO_NOUNS = "asking held inside later ordering ours outside past theirs then wanted"
_PRIVATE_TYPES = """
    Abandon Connect Doubts Introduction Learning Limits LimitsBook NewTask Order Parts Pause Place
    RecentArtifacts Tools
"""

PRIVATE_WORDS = frozenset(_PRIVATE.split())
"""What no identifier and no module may hold."""

NO_NOUNS = frozenset(_NO_NOUNS.split())
"""What names no type and no module, since it is no noun."""

PRIVATE_TYPES = frozenset(_PRIVATE_TYPES.split())

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TEXT = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|`[^`]*`|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
_TYPE_OF_SCRIPT = re.compile(r"\b(?:type|interface|class)\s+(\w+)")
_NAME_OF_SCRIPT = re.compile(
    r"\b(?:const|let|var|function|func|type|interface|class)\s+(\w+)|[(,]\s*(\w+)\??:|(\w+)\s*:="
)


def words_of(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))


def refused_in_python(source: str) -> list[str]:
    return [
        name
        for name, is_type in _definitions(ast.parse(source))
        if _is_refused(name, is_type=is_type)
    ]


def refused_in_script(source: str) -> list[str]:
    """List the refused names of a Go or TypeScript source, found without its grammar."""
    code = _TEXT.sub("", source)
    types = set(_TYPE_OF_SCRIPT.findall(code))
    names = {name for groups in _NAME_OF_SCRIPT.findall(code) for name in groups if name}
    return [
        name
        for name in sorted(names)
        if words_of(name) & (PRIVATE_WORDS | (NO_NOUNS if name in types else set()))
    ]


def refused_in_path(parts: tuple[str, ...]) -> list[str]:
    return [
        part for part in parts if not part.startswith("test_") and _is_refused(part, is_type=True)
    ]


def _is_refused(name: str, *, is_type: bool) -> bool:
    words = words_of(name)
    if words & PRIVATE_WORDS:
        return True
    return is_type and (name in PRIVATE_TYPES or bool(words & NO_NOUNS))


def _definitions(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name):
                yield name, True
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if not name.startswith("test_"):
                    yield name, False
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name, False
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.alias(asname=str() as name):
                yield name, False
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                yield name, False
            case _:
                pass
