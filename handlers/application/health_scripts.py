"""HealthScripts are the Lua scripts of `argocd-cm` that judge kinds in place of our rules. Pure.

A script stands in the YAML map `resource.customizations`, whose keys may hold `*`, or in a key of
its own, `resource.customizations.health.<group>_<Kind>`, which goes before the map. The contract is
Argo CD's: the object is the global `obj`, and the script returns a table of status and message.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import yaml

CUSTOMIZATIONS = "resource.customizations"
_HEALTH = f"{CUSTOMIZATIONS}.health."
_OPEN_LIBS = f"{CUSTOMIZATIONS}.useOpenLibs."


class HealthScript(msgspec.Struct, frozen=True, kw_only=True):
    """A script, with the key of `argocd-cm` where it stands."""

    text: str
    use_open_libs: bool = False
    """Whether it gets the libraries string and math too."""
    source: str = ""

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the sandbox's operation `lua`."""
        return {"script": self.text, "useOpenLibs": self.use_open_libs}


class HealthScripts(msgspec.Struct, frozen=True, kw_only=True):
    """The scripts by kind, written `group/Kind`, or `Kind` in the core group."""

    exact: Mapping[str, HealthScript] = {}
    wildcards: tuple[tuple[str, HealthScript], ...] = ()
    """Sorted, so that of several that match always the same one is taken."""

    def __bool__(self) -> bool:
        return bool(self.exact or self.wildcards)

    def of(self, group: str, kind: str) -> HealthScript | None:
        """The script of a kind; an exact key goes before one with a wildcard."""
        if not self:
            return None
        name = f"{group}/{kind}" if group else kind
        found = self.exact.get(name)
        if found is not None:
            return found
        matching = (script for glob, script in self.wildcards if fnmatchcase(name, glob))
        return next(matching, None)


class _Customization(msgspec.Struct, frozen=True, kw_only=True):
    health: str = msgspec.field(name="health.lua", default="")
    use_open_libs: bool = msgspec.field(name="health.lua.useOpenLibs", default=False)


def read_scripts(data: Mapping[str, str]) -> HealthScripts:
    """Read the scripts of the ConfigMap's data; what cannot be read is left out.

    `unreadable_scripts` names what was left out.
    """
    found: dict[str, HealthScript] = {}
    for kind, written in _map_of(data).items():
        entry = _customization(written)
        if entry is not None and entry.health:
            found[kind] = HealthScript(
                text=entry.health,
                use_open_libs=entry.use_open_libs,
                source=f"{CUSTOMIZATIONS} [{kind}]",
            )
    found |= _split_keys(data)
    found |= {kind: _opened(found[kind], data, kind) for kind in found}
    globs = {kind for kind in found if "*" in kind}
    return HealthScripts(
        exact={kind: script for kind, script in found.items() if kind not in globs},
        wildcards=tuple((kind, found[kind]) for kind in sorted(globs)),
    )


def unreadable_scripts(data: Mapping[str, str]) -> tuple[str, ...]:
    """Name the kinds of the map whose health cannot be read; the map itself is judged elsewhere."""
    return tuple(str(kind) for kind, one in _map_of(data).items() if _customization(one) is None)


def _split_keys(data: Mapping[str, str]) -> dict[str, HealthScript]:
    return {
        key.removeprefix(_HEALTH).replace("_", "/"): HealthScript(text=text, source=key)
        for key, text in data.items()
        if key.startswith(_HEALTH) and text
    }


def _opened(script: HealthScript, data: Mapping[str, str], kind: str) -> HealthScript:
    """Apply the key `useOpenLibs` of the kind, which counts for a script of the map too."""
    written = data.get(f"{_OPEN_LIBS}{kind.replace('/', '_')}")
    if written is None:
        return script
    return msgspec.structs.replace(script, use_open_libs=written.strip().lower() == "true")


def _map_of(data: Mapping[str, str]) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(data.get(CUSTOMIZATIONS, ""))
    except yaml.YAMLError:
        return {}
    return document if isinstance(document, dict) else {}


def _customization(written: object) -> _Customization | None:
    try:
        return msgspec.convert(written, _Customization)
    except msgspec.ValidationError:
        return None
