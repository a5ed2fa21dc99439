"""The one write of the Applications store: a merge patch of one object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.kube.client import KubeClient
from bus.identity import AppKey


class ApplicationPatches:
    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def patch_application(self, key: AppKey, patch: Mapping[str, Any]) -> bytes:
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{key.namespace}/applications/{key.name}"
        return await self._client.merge_patch(path, patch, {"fieldManager": _MANAGER})


_MANAGER = "argocd-controller"
