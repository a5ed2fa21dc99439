"""Known types of fields of custom resources: Argo CD's `knownTypeFields` in `argocd-cm`. Pure.

A rule says that a field, by its dotted path, has a type of Kubernetes whose values may be spelled
in several ways: `0.1` is `100m`, and `1h` is `60m`. The rules stand in two places, as the ignore
rules do (`ignore_settings`); a key for a kind takes the place of the map's entry for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from handlers.application.address_pattern import matches
from handlers.application.health_scripts import CUSTOMIZATIONS

KNOWN_TYPES = f"{CUSTOMIZATIONS}.knownTypeFields."
_NAME = "knownTypeFields"
_MOST_FIELDS, _DEEPEST = 200, 30
TYPES = (
    "core/Quantity",
    "core/v1/Container",
    "core/v1/PersistentVolumeClaimSpec",
    "core/v1/PodSpec",
    "core/v1/PodTemplateSpec",
    "core/v1/ResourceList",
    "core/v1/ResourceRequirements",
    "core/v1/Volume",
    "meta/v1/Duration",
)
"""The types that have values of several spellings, and are acted on."""


class KnownTypeField(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    field: str
    type: str

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.field.split("."))


class KnownTypes(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of one kind; group and kind are globs."""

    group: str
    kind: str
    fields: tuple[KnownTypeField, ...]


class KnownTypeSettings(msgspec.Struct, frozen=True):
    """The rules, and the places that cannot be read with what is wrong."""

    rules: tuple[KnownTypes, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


KnownTypeRules = tuple[KnownTypes, ...]


def known_fields(rules: KnownTypeRules, group: str, kind: str) -> tuple[KnownTypeField, ...]:
    """Find the fields of a kind whose types are known."""
    found = (one for one in rules if matches(one.group, group) and matches(one.kind, kind))
    return tuple(dict.fromkeys(it for one in found for it in one.fields))


def read_known_types(data: Mapping[str, str]) -> KnownTypeSettings:
    """Read both places; what cannot be read is left out and named."""
    rules: dict[tuple[str, str], KnownTypes] = {}
    unreadable: list[tuple[str, str]] = []
    for place, parts, value in (*_of_map(data), *_of_keys(data)):
        try:
            found = _rule(parts, value)
        except (yaml.YAMLError, msgspec.ValidationError, ValueError) as error:
            unreadable.append((place, str(error).partition("\n")[0]))
        else:
            rules[found.group, found.kind] = found
    return KnownTypeSettings(tuple(rules.values()), tuple(unreadable))


def _of_map(data: Mapping[str, str]) -> Iterator[tuple[str, list[str], object]]:
    """Yield nothing where the map cannot be read: `ignore_settings` says so."""
    try:
        document: Any = yaml.safe_load(data.get(CUSTOMIZATIONS, ""))
    except yaml.YAMLError:
        return
    for key, each in document.items() if isinstance(document, Mapping) else ():
        if isinstance(each, Mapping) and _NAME in each:
            yield f"{CUSTOMIZATIONS}[{key}].{_NAME}", str(key).split("/"), each[_NAME]


def _of_keys(data: Mapping[str, str]) -> Iterator[tuple[str, list[str], object]]:
    for key, value in sorted(data.items()):
        if key.startswith(KNOWN_TYPES):
            yield key, key.removeprefix(KNOWN_TYPES).split("_"), value


def _rule(parts: list[str], value: object) -> KnownTypes:
    if len(parts) > 2 or not parts[-1]:
        raise ValueError("expected one kind, with its group before it or without")
    written = yaml.safe_load(value) if isinstance(value, str) else value
    fields = msgspec.convert(written or (), tuple[KnownTypeField, ...])
    if len(fields) > _MOST_FIELDS:
        raise ValueError(f"{len(fields)} fields; expected at most {_MOST_FIELDS}")
    for one in fields:
        if not all(one.path) or len(one.path) > _DEEPEST:
            raise ValueError(f"field {one.field[:100]!r} is no path of names with dots between")
        if one.type not in TYPES:
            raise ValueError(f"type {one.type[:100]!r} is none of {', '.join(TYPES)}")
    return KnownTypes(group=parts[0] if len(parts) == 2 else "", kind=parts[-1], fields=fields)
