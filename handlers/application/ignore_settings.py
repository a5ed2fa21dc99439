"""Ignore rules of `argocd-cm`, which hold for the objects of all Applications. Pure.

They stand in two places: one key for each kind, `resource.customizations.ignoreDifferences.KIND`
(`apps_Deployment`, `ConfigMap`, or `all` for every kind), and the map `resource.customizations`,
whose keys (`apps/Deployment`, globs allowed) have the same rules as a text of YAML. A key for a
kind takes the place of the map's entry for it. The rules of `ignoreResourceUpdates` have the same
form: a live object that changed in their fields alone is not compared again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from handlers.application.health_scripts import CUSTOMIZATIONS
from handlers.application.ignore_rules import IgnoreRule, read_rule
from handlers.application.spec import IgnoreDifference

IGNORE_DIFFERENCES = f"{CUSTOMIZATIONS}.ignoreDifferences."
IGNORE_UPDATES = f"{CUSTOMIZATIONS}.ignoreResourceUpdates."
_PLACE = "argocd-cm: "


class IgnoreSettings(msgspec.Struct, frozen=True):
    """The rules, and the keys that cannot be read with what is wrong."""

    rules: tuple[IgnoreRule, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


class _Customization(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The value of one kind; an unknown field is refused, because it is a rule that is mistyped."""

    json_pointers: tuple[str, ...] = ()
    jq_path_expressions: tuple[str, ...] = ()
    managed_fields_managers: tuple[str, ...] = ()


def read_ignore_settings(data: Mapping[str, str], begin: str) -> IgnoreSettings:
    """Read both places of the rules whose keys begin with `begin`."""
    name = begin.removeprefix(f"{CUSTOMIZATIONS}.").removesuffix(".")
    unreadable: list[tuple[str, str]] = []
    found: dict[tuple[str, str], IgnoreRule] = {}
    for key, value in _of_map(data, name, unreadable):
        _add(key.split("/"), f"{CUSTOMIZATIONS}[{key}].{name}", value, found, unreadable)
    for key, value in sorted(data.items()):
        if key.startswith(begin):
            kind = key.removeprefix(begin)
            parts = ["*", "*"] if kind == "all" else kind.split("_")
            _add(parts, key, value, found, unreadable)
    return IgnoreSettings(tuple(found.values()), tuple(unreadable))


def _of_map(
    data: Mapping[str, str], name: str, unreadable: list[tuple[str, str]]
) -> list[tuple[str, object]]:
    try:
        document: Any = yaml.safe_load(data.get(CUSTOMIZATIONS, "")) or {}
    except yaml.YAMLError as error:
        unreadable.append((CUSTOMIZATIONS, _first_line(error)))
        return []
    if not isinstance(document, Mapping):
        unreadable.append((CUSTOMIZATIONS, "expected a map of `group/Kind`"))
        return []
    return [
        (str(key), each[name])
        for key, each in document.items()
        if isinstance(each, Mapping) and name in each
    ]


def _add(
    parts: list[str],
    place: str,
    value: object,
    found: dict[tuple[str, str], IgnoreRule],
    unreadable: list[tuple[str, str]],
) -> None:
    """Read the rule of one kind, whose group may be left out: that is the core group."""
    if len(parts) > 2 or not parts[-1]:
        unreadable.append((place, "expected one kind, with its group before it or without"))
        return
    group, kind = parts[0] if len(parts) == 2 else "", parts[-1]
    try:
        document = yaml.safe_load(value) if isinstance(value, str) else value
        read = msgspec.convert(document or {}, _Customization)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        unreadable.append((place, _first_line(error)))
        return
    written = IgnoreDifference(
        group=group,
        kind=kind,
        json_pointers=read.json_pointers,
        jq_path_expressions=read.jq_path_expressions,
        managed_fields_managers=read.managed_fields_managers,
    )
    found[group, kind] = read_rule(written, _PLACE + place)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
