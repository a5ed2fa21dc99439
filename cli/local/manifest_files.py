"""Manifests of a file that a person wrote, read without the sandbox.

An Application or AppProject is written by its owner, so it needs no sandbox, which a CI image with
the wheel alone has not. YAML is read with Kubernetes' meaning: dates and times stay text, and a key
that stands twice is refused, because one of the two would be lost without a word.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from cli.local.inputs import InputError, read_bytes

_RESOLVED_HERE = frozenset(f"tag:yaml.org,2002:{it}" for it in ("int", "float", "timestamp"))
_INT = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
NUMBERS = (
    ("tag:yaml.org,2002:int", _INT, tuple("-+0123456789")),
    ("tag:yaml.org,2002:float", _FLOAT, tuple("-+.0123456789")),
)
"""What Kubernetes takes for a number: tag, form and first characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileManifest:
    """A manifest of a file; `location` names file and document in messages."""

    location: str
    body: Mapping[str, Any]


def read_manifests(file: str) -> list[FileManifest]:
    """Read every object of `file`, items of Lists too; raises InputError for anything else."""
    content = read_bytes(file)
    try:
        documents = list(yaml.load_all(content.decode("utf-8-sig"), _Loader))
    except UnicodeDecodeError as e:
        raise InputError(f"{file}: expected UTF-8", file=file) from e
    except (yaml.YAMLError, RecursionError) as e:
        raise InputError(f"{file}: {_reason(e)}", file=file) from e
    found = [it for document in documents for it in _items(document)]
    if not found:
        raise InputError(f"{file}: holds no object", file=file)
    return [_manifest(f"{file}, document {i}", it) for i, it in enumerate(found, 1)]


def _manifest(location: str, body: object) -> FileManifest:
    if not isinstance(body, dict):
        raise InputError(f"{location}: expected a Kubernetes object, found {type(body).__name__}")
    if not isinstance(body.get("kind"), str) or not isinstance(body.get("apiVersion"), str):
        raise InputError(f"{location}: apiVersion or kind is missing")
    return FileManifest(location=location, body=body)


def _items(document: Any) -> Iterator[object]:
    """List the items of a List, as `kubectl get -o yaml` prints one."""
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        yield from document["items"]
    elif document is not None:
        yield document


def _reason(error: Exception) -> str:
    """Format a YAML error on one line, with line and column."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return "is nested too deeply" if isinstance(error, RecursionError) else str(error)


class _Loader(yaml.SafeLoader):
    """A safe loader with JSON's types: dates stay text, and `12:30:45` is no number."""

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag not in _RESOLVED_HERE]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002  as its base has it
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = key_node.value
            if key in seen and isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key if isinstance(key_node, yaml.ScalarNode) else id(key_node))
        return super().construct_mapping(node, deep=deep)


for tag, form, first in NUMBERS:
    _Loader.add_implicit_resolver(tag, form, list(first))
