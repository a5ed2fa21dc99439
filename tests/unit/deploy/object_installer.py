"""Applying rendered objects as an administrator would, with the API server's warnings heard."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from playground.kubeapi import Access
from tests.unit.deploy.chart_values import Object

_PLURALS = {"NetworkPolicy": "networkpolicies"}
_CLUSTER_WIDE = {"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}
_FIRST = ("Namespace", "CustomResourceDefinition")
_APPLY = "application/apply-patch+yaml"
_STRICT = {"fieldManager": "installer", "force": "true", "fieldValidation": "Strict"}


@dataclass(frozen=True, slots=True)
class Installer:
    session: aiohttp.ClientSession

    async def apply(self, objects: Iterable[Object], *, dry_run: bool) -> dict[str, list[str]]:
        """What the API server has against each object, by `Kind/name`: nothing, one hopes."""
        messages: dict[str, list[str]] = {}
        for one in sorted(objects, key=lambda it: it["kind"] not in _FIRST):
            messages[f"{one['kind']}/{one['metadata']['name']}"] = await self._apply(one, dry_run)
        return {name: complaints for name, complaints in messages.items() if complaints}

    async def _apply(self, manifest: Object, dry_run: bool) -> list[str]:  # noqa: FBT001  handed through
        query = {**_STRICT, **({"dryRun": "All"} if dry_run else {})}
        async with self.session.patch(
            path_of(manifest),
            params=query,
            data=orjson.dumps(manifest),
            headers={"Content-Type": _APPLY},
        ) as answer:
            refused = [] if answer.ok else [await answer.text()]
            return [*refused, *answer.headers.getall("Warning", [])]

    async def get(self, path: str) -> Any:
        async with self.session.get(path) as answer:
            return orjson.loads(await answer.read())

    async def post(self, path: str, body: Object) -> Any:
        async with self.session.post(path, json=body) as answer:
            return orjson.loads(await answer.read())

    async def delete(self, manifest: Object) -> None:
        async with self.session.delete(path_of(manifest)):
            pass


@asynccontextmanager
async def installer(access: Access) -> AsyncIterator[Installer]:
    trust = ssl.create_default_context(cafile=str(access.ca_file))
    async with aiohttp.ClientSession(
        access.url,
        connector=aiohttp.TCPConnector(ssl=trust),
        headers={"Authorization": f"Bearer {access.token}"},
        timeout=aiohttp.ClientTimeout(total=120),
    ) as session:
        yield Installer(session)


def path_of(manifest: Object) -> str:
    kind, meta, version = manifest["kind"], manifest["metadata"], manifest["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    space = "" if kind in _CLUSTER_WIDE else f"/namespaces/{meta['namespace']}"
    return f"{root}{space}/{_PLURALS.get(kind, kind.lower() + 's')}/{meta['name']}"
