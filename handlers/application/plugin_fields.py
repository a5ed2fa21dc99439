"""The fields of `spec.source.plugin`, as Argo CD has them."""

from __future__ import annotations

import msgspec


class PluginVariable(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    name: str
    value: str = ""


class PluginParameter(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    name: str = ""
    string: str | None = None
    map: dict[str, str] | None = None
    array: tuple[str, ...] | None = None


class PluginSource(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    name: str = ""
    """`<name>` or `<name>-<version>` of its plugin.yaml; empty: the plugin that recognises it."""
    env: tuple[PluginVariable, ...] = ()
    parameters: tuple[PluginParameter, ...] | None = None
