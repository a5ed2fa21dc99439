"""From a recipe to the operation of the sandbox and its parameters. Pure.

The worker takes Argo CD's field names, so a source goes over nearly as it is; fields that the
sandbox has no use for stay here, because the worker refuses what it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

from handlers.application.spec import KustomizeReplica
from handlers.ports.chart_dependency import ChartDependency
from handlers.ports.remote_base import RemoteBase
from handlers.ports.rendering import Recipe, SourceType
from sandbox.client.limits import SandboxLimits

_NOT_OF_HELM = ("version", "passCredentials")
_NOT_OF_KUSTOMIZE = ("version", "kubeVersion", "apiVersions", "commonAnnotationsEnvsubst")


def request_of(
    recipe: Recipe,
    limits: SandboxLimits,
    charts: Mapping[ChartDependency, str] = {},
    bases: Mapping[RemoteBase, str] = {},
) -> tuple[str, dict[str, Any]]:
    """Return the operation and its parameters.

    `charts` and `bases` have the names by which the worker asks for the files of each.
    """
    match recipe.type:
        case SourceType.DIRECTORY:
            return "directory", _directory(recipe, limits)
        case SourceType.HELM:
            return "helm", _helm(recipe, charts)
        case SourceType.KUSTOMIZE:
            return "kustomize", _kustomize(recipe, charts, bases)
        case SourceType.PLUGIN:
            raise ValueError("the recipe of a plugin is no operation of the sandbox")
        case _:
            assert_never(recipe.type)


def _directory(recipe: Recipe, limits: SandboxLimits) -> dict[str, Any]:
    return {
        "path": recipe.path,
        "maxBytes": limits.directory_bytes,
        "skipJsonnet": recipe.skip_jsonnet,
        **msgspec.to_builtins(recipe.directory),
    }


def _helm(recipe: Recipe, charts: Mapping[ChartDependency, str]) -> dict[str, Any]:
    source = recipe.helm
    return {
        **_without(msgspec.to_builtins(source), _NOT_OF_HELM),
        "path": recipe.path,
        "releaseName": source.release_name or recipe.app_name,
        "namespace": source.namespace or recipe.namespace,
        "kubeVersion": source.kube_version or recipe.kube_version,
        "apiVersions": list(source.api_versions or recipe.api_versions),
        "refs": list(recipe.refs),
        "dependencies": _charts(charts),
    }


def _kustomize(
    recipe: Recipe, charts: Mapping[ChartDependency, str], bases: Mapping[RemoteBase, str]
) -> dict[str, Any]:
    overrides = _without(msgspec.to_builtins(recipe.kustomize), _NOT_OF_KUSTOMIZE)
    if recipe.kustomize.replicas:
        overrides["replicas"] = [_replica(one) for one in recipe.kustomize.replicas]
    build = msgspec.to_builtins(recipe.build)
    fetched = [{**msgspec.to_builtins(one), "files": name} for one, name in bases.items()]
    return {
        "path": recipe.path,
        "overrides": overrides,
        "bases": fetched,
        "kubeVersion": recipe.kube_version,
        "apiVersions": list(recipe.api_versions),
        "dependencies": _charts(charts),
        **build,
    }


def _charts(charts: Mapping[ChartDependency, str]) -> list[dict[str, Any]]:
    return [{**msgspec.to_builtins(one), "ref": name} for one, name in charts.items()]


def _replica(replica: KustomizeReplica) -> dict[str, Any]:
    """A count may be written as text; what is no number is left for the worker to refuse."""
    count = replica.count
    if isinstance(count, str) and count.isdecimal():
        count = int(count)
    return {"name": replica.name, "count": count}


def _without(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}
