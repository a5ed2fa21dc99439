"""Settings of `argocd-cm` about the tools that render sources: Helm, Kustomize and jsonnet. Pure.

`kustomize.buildOptions` is a command line. Options that say how a kustomization is built are acted
on; those that run programs, reach a network or need a folder on a disk are told, and the build goes
on without them: where a kustomization needs one, its build fails and says so.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from handlers.application.argo_parameters import is_false

BUILD_OPTIONS = "kustomize.buildOptions"
JSONNET = "Jsonnet"
_TOOLS = {"helm.enable": "Helm", "kustomize.enable": "Kustomize", "jsonnet.enable": JSONNET}
_RESTRICTIONS = {"LoadRestrictionsNone": "none", "LoadRestrictionsRootOnly": ""}
_ORDERS = ("none", "legacy")
_LONGEST = 1000


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The options of `kustomize build` that are acted on, as the sandbox takes them."""

    load_restrictor: str = ""
    """`none`: files may be used from above a kustomization's folder, inside of the repository."""
    reorder: str = ""
    """`none` or `legacy`; empty: the default of kustomize."""
    managed_by_label: bool = False
    enable_helm: bool = False
    """Whether `helmCharts` are inflated: by the sandbox, of charts that the agent has fetched."""


class ToolSettings(msgspec.Struct, frozen=True, kw_only=True):
    disabled: frozenset[str] = frozenset()
    """The tools that render no source: `Helm`, `Kustomize`, `Jsonnet`."""
    build: BuildOptions = BuildOptions()
    left_out: tuple[tuple[str, str], ...] = ()
    """The options of builds that are not acted on, as place and reason."""


def read_tools(data: Mapping[str, str]) -> ToolSettings:
    disabled = frozenset(tool for key, tool in _TOOLS.items() if is_false(data.get(key, "")))
    text = data.get(BUILD_OPTIONS, "")
    try:
        words = shlex.split(text[:_LONGEST]) if len(text) <= _LONGEST else [text[:20]]
    except ValueError:
        words = [text[:100]]
    build = BuildOptions()
    left_out: list[tuple[str, str]] = []
    for name, value in _options(words):
        if name == "--load-restrictor" and value in _RESTRICTIONS:
            build = replace(build, load_restrictor=_RESTRICTIONS[value])
        elif name == "--reorder" and value in _ORDERS:
            build = replace(build, reorder=value)
        elif name == "--enable-managedby-label" and value in ("", "true"):
            build = replace(build, managed_by_label=True)
        elif name == "--enable-helm" and value in ("", "true"):
            build = replace(build, enable_helm=True)
        else:
            option = f"{name} {value}".strip()[:100]
            left_out.append((f"{BUILD_OPTIONS}: {option}", "kustomizations are built without it"))
    return ToolSettings(disabled=disabled, build=build, left_out=tuple(left_out))


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Pair each option with its value, which follows it after `=` or as the next word."""
    rest = list(words)
    while rest:
        name, _, value = rest.pop(0).partition("=")
        if not value and rest and not rest[0].startswith("-"):
            value = rest.pop(0)
        yield name, value
