"""Our CustomResourceDefinitions in a cluster, as an administrator installs them once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from agent.child import until
from playground.kubeapi import KubeApi, KubeApiError

_FOLDER = Path(__file__).parent.parent / "deploy" / "base" / "crds"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def install_definitions(api: KubeApi) -> None:
    """Return when the API server serves them."""
    bodies: list[dict[str, Any]] = [
        yaml.safe_load(file.read_text()) for file in sorted(_FOLDER.glob("*.yaml"))
    ]
    for body in bodies:
        await api.apply(f"{_DEFINITIONS}/{body['metadata']['name']}", body)
    for body in bodies:
        await _served(api, body["spec"]["names"]["plural"])


async def _served(api: KubeApi, plural: str) -> None:
    async def answers() -> bool:
        try:
            return await api.exists(f"/apis/argoproj.io/v1alpha1/{plural}")
        except KubeApiError as error:
            if error.code != 429:  # its storage is being made
                raise
            return False

    await until(answers)
