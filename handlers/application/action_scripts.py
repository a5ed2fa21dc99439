"""ActionScripts are the Lua actions of `argocd-cm`, by kind. Pure.

They stand in the YAML map `resource.customizations` under `actions`, or in a key of their own,
`resource.customizations.actions.<group>_<Kind>`, which goes before the map. Keys have no wildcards.
The value is YAML, as Argo CD has it:

    discovery.lua: |              the actions of an object: a table by name
    definitions:
    - name: restart
      action.lua: |               the object as it should be, or a list of changes
    mergeBuiltinActions: true     offer the built-in actions of the kind too
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from handlers.application.health_scripts import CUSTOMIZATIONS

ACTIONS = f"{CUSTOMIZATIONS}.actions."
_MOST = 64 * 1024


class ActionScript(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    text: str = msgspec.field(name="action.lua")


class KindActions(msgspec.Struct, frozen=True, kw_only=True):
    """What `argocd-cm` says about the actions of one kind."""

    discovery: str = msgspec.field(name="discovery.lua", default="")
    definitions: tuple[ActionScript, ...] = ()
    merges_built_in: bool = msgspec.field(name="mergeBuiltinActions", default=False)
    """Whether the built-in actions are offered too; they can be run by name in any case."""
    source: str = ""
    """The key where it stands."""

    def script(self, name: str) -> str | None:
        """The script of an action; None where the kind has no such action of its own."""
        return next((one.text for one in self.definitions if one.name == name), None)


class ActionScripts(msgspec.Struct, frozen=True, kw_only=True):
    kinds: Mapping[str, KindActions] = {}
    """By kind, written `group/Kind`, or `Kind` in the core group."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """The places that cannot be read, and why."""

    def of(self, group: str, kind: str) -> KindActions | None:
        return self.kinds.get(f"{group}/{kind}" if group else kind)


def read_action_scripts(data: Mapping[str, str]) -> ActionScripts:
    """Read both places of the ConfigMap's data."""
    kinds: dict[str, KindActions] = {}
    unreadable: list[tuple[str, str]] = []
    for kind, place, value in (*_of_map(data), *_of_keys(data)):
        try:
            kinds[kind] = _read(value, place)
        except (yaml.YAMLError, msgspec.ValidationError, ValueError) as error:
            kinds.pop(kind, None)
            unreadable.append((place, str(error).partition("\n")[0]))
    return ActionScripts(kinds=kinds, unreadable=tuple(unreadable))


def _of_map(data: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    """The entries of the map; a map that cannot be read is a problem of its own."""
    try:
        document = yaml.safe_load(data.get(CUSTOMIZATIONS, ""))
    except yaml.YAMLError:
        return
    for kind, one in document.items() if isinstance(document, dict) else ():
        if isinstance(one, dict) and one.get("actions"):
            yield str(kind), f"{CUSTOMIZATIONS}[{kind}].actions", one["actions"]


def _of_keys(data: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    for key, value in sorted(data.items()):
        if key.startswith(ACTIONS) and value.strip():
            yield key.removeprefix(ACTIONS).replace("_", "/"), key, value


def _read(value: object, place: str) -> KindActions:
    kind = place.removeprefix(ACTIONS)
    if kind != place and (kind.count("_") > 1 or "*" in kind or not kind.rpartition("_")[2]):
        raise ValueError("expected one kind, with its group before it or without")
    document: Any = yaml.safe_load(value) if isinstance(value, str) else value
    found = msgspec.convert(document, KindActions)
    if any(len(text) > _MOST for text in _texts(found)):
        raise ValueError(f"a script is longer than {_MOST >> 10} KiB")
    return msgspec.structs.replace(found, source=place)


def _texts(found: KindActions) -> Iterator[str]:
    yield found.discovery
    yield from (one.text for one in found.definitions)
