"""Recipes as short as a test wants them."""

from typing import Any

import msgspec

from handlers.application.spec import DirectorySource, HelmSource, KustomizeSource
from handlers.ports.rendering import Recipe, RenderResult, SourceType


def directory(path: str = "app", **fields: Any) -> Recipe:
    return _recipe(SourceType.DIRECTORY, path, directory=msgspec.convert(fields, DirectorySource))


def kustomize(path: str = "app", **fields: Any) -> Recipe:
    return _recipe(SourceType.KUSTOMIZE, path, kustomize=msgspec.convert(fields, KustomizeSource))


def helm(path: str = "chart", **fields: Any) -> Recipe:
    return _recipe(SourceType.HELM, path, helm=msgspec.convert(fields, HelmSource))


def objects(rendered: RenderResult) -> list[dict[str, Any]]:
    return [msgspec.json.decode(one) for one in rendered.objects]


def names(rendered: RenderResult) -> list[str]:
    return [f"{one['kind']}/{one['metadata']['name']}" for one in objects(rendered)]


def _recipe(kind: SourceType, path: str, **sources: Any) -> Recipe:
    return Recipe(
        type=kind,
        path=path,
        app_name="shop",
        namespace="prod",
        kube_version="v1.36.0",
        api_versions=("apps/v1",),
        **sources,
    )
