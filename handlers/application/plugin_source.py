"""Plugin sources: what a config management plugin is given besides the files. Pure.

The variables have Argo CD's names: `ARGOCD_ENV_*` for those of the Application, whose values may
use the build environment, and `PARAM_*` beside `ARGOCD_APP_PARAMETERS` for its parameters. The
prefixes are the protection: no Application sets `PATH` or what else a plugin's container relies on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from handlers.application.plugin_fields import PluginParameter, PluginSource

MAX_ENTRIES = 500
"""Of variables, of parameters and of the items of one parameter."""
MAX_BYTES = 128 * 1024
"""Of the name and value of one variable: Linux starts no program with a longer one."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_ODD = re.compile(r"[^A-Z0-9_]")


def is_plugin_name(name: str) -> bool:
    """Whether a socket may have this name; also what keeps a name inside its folder."""
    return _NAME.fullmatch(name) is not None and ".." not in name


def plugin_problems(plugin: PluginSource) -> Iterator[str]:
    if plugin.name and not is_plugin_name(plugin.name):
        yield (
            f"spec.source.plugin.name {plugin.name[:80]!r} is no name of a plugin; expected"
            " metadata.name of its plugin.yaml, and `-` and spec.version where it has one"
        )
    parameters = plugin.parameters or ()
    sizes = (len(plugin.env), len(parameters), *(_items(one) for one in parameters))
    if max(sizes) > MAX_ENTRIES:
        yield f"spec.source.plugin has lists of more than {MAX_ENTRIES} entries"
        return
    for name, value in (*_variables(plugin, str), *_parameters(plugin)):
        if "\0" in name + value or "=" in name or name == _VARIABLE:
            yield f"spec.source.plugin: {name[:80]!r} cannot be a variable of a program"
        elif len(name.encode()) + len(value.encode()) >= MAX_BYTES - 1:
            yield f"spec.source.plugin: the variable {name[:80]} has more than {MAX_BYTES} bytes"
            return


def plugin_environment(
    plugin: PluginSource | None,
    environment: Mapping[str, str],
    substitute: Callable[[str], str],
) -> tuple[tuple[str, str], ...]:
    """All variables of the plugin's commands, later ones before earlier ones of the same name.

    A plugin that found the source by itself, without a block in the Application, has the build
    environment only.
    """
    if plugin is None:
        return tuple(environment.items())
    named = dict(environment) | dict(_variables(plugin, substitute)) | dict(_parameters(plugin))
    return tuple(named.items())


_VARIABLE = "ARGOCD_ENV_"


def _variables(plugin: PluginSource, substitute: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    for one in plugin.env:
        yield f"{_VARIABLE}{one.name}", substitute(one.value)


def _parameters(plugin: PluginSource) -> Iterator[tuple[str, str]]:
    found = plugin.parameters
    written = None if found is None else [_written(one) for one in found]
    yield "ARGOCD_APP_PARAMETERS", msgspec.json.encode(written).decode()
    for one in found or ():
        base = f"PARAM_{_escaped(one.name)}"
        if one.string is not None:
            yield base, one.string
        for key, value in (one.map or {}).items():
            yield f"{base}_{_escaped(key)}", value
        for place, value in enumerate(one.array or ()):
            yield f"{base}_{place}", value


def _written(parameter: PluginParameter) -> dict[str, Any]:
    fields = {
        "name": parameter.name,
        "string": parameter.string,
        "map": parameter.map,
        "array": parameter.array,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _items(parameter: PluginParameter) -> int:
    return len(parameter.map or ()) + len(parameter.array or ())


def _escaped(name: str) -> str:
    return _ODD.sub("_", name.upper())
