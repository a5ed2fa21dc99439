"""The chart and the base as objects, made by our own sandbox as the agent would make them.

For deploy/generate.py and the tests; nothing is read outside this folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent.renderer.renderer import SandboxRenderer
from cli.local.directory import DirectoryTree
from handlers.application.spec import HelmSource
from handlers.ports.rendering import Recipe, SourceType
from sandbox.client import Sandbox

RELEASE, NAMESPACE = "gitops", "argocd"
SERVICE_NAMESPACE = "gitops"
FOLDER = Path(__file__).parent
_KUBE_VERSION = "1.35.0"

Object = dict[str, Any]


async def chart(sandbox: Sandbox, values: Mapping[str, Any], namespace: str) -> tuple[Object, ...]:
    """`helm template gitops deploy/chart`; raises RenderError, also for values that are wrong."""
    return await _templated(sandbox, "chart", values, namespace)


async def service_chart(
    sandbox: Sandbox, values: Mapping[str, Any], namespace: str
) -> tuple[Object, ...]:
    """`helm template gitops deploy/service-chart`; raises RenderError likewise."""
    return await _templated(sandbox, "service-chart", values, namespace)


async def _templated(
    sandbox: Sandbox, path: str, values: Mapping[str, Any], namespace: str
) -> tuple[Object, ...]:
    recipe = Recipe(
        type=SourceType.HELM,
        path=path,
        app_name=RELEASE,
        namespace=namespace,
        helm=HelmSource(values_object=dict(values)),
        kube_version=_KUBE_VERSION,
    )
    return await _objects(sandbox, recipe)


async def base(sandbox: Sandbox) -> tuple[Object, ...]:
    """`kubectl kustomize deploy/base`; raises RenderError."""
    return await kustomized(sandbox, FOLDER, "base")


async def kustomized(sandbox: Sandbox, folder: Path, path: str) -> tuple[Object, ...]:
    """`kubectl kustomize {folder}/{path}`; raises RenderError."""
    recipe = Recipe(type=SourceType.KUSTOMIZE, path=path, app_name=RELEASE, namespace=NAMESPACE)
    return await _objects(sandbox, recipe, folder)


async def _objects(sandbox: Sandbox, recipe: Recipe, folder: Path = FOLDER) -> tuple[Object, ...]:
    rendered = await SandboxRenderer(sandbox).render(recipe, DirectoryTree(folder))
    return tuple(msgspec.json.decode(one) for one in rendered.objects)
