"""Objects as YAML text that every Kubernetes tool reads back as the same objects. Pure.

A text that some reader takes for a number, a date or a truth value is quoted: PyYAML's own rules
leave `1e3` plain, which Kubernetes reads as a number. Texts of several lines are blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from cli.local.manifest_files import NUMBERS

_FIRST = ("apiVersion", "kind", "metadata", "spec")


def manifest_text(manifests: Iterable[Mapping[str, Any]]) -> str:
    """Write objects as a stream of documents, each with its usual fields first."""
    ordered = [_ordered(it) for it in manifests]
    return yaml.dump_all(
        ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, explicit_start=True
    )


def _ordered(manifest: Mapping[str, Any]) -> dict[str, Any]:
    first = {name: manifest[name] for name in _FIRST if name in manifest}
    return {**first, **manifest}


class _Dumper(yaml.SafeDumper):
    """A safe dumper that writes no references to earlier values."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  as its base has it
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
for tag, form, first in NUMBERS:
    _Dumper.add_implicit_resolver(tag, form, list(first))
