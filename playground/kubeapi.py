"""The few calls the playground itself makes to a Kubernetes API: plain paths, plain objects, JSON.

Not the agent's client: no discovery and no watch. Tests use it to look at the world from outside.
A server that answers 429 is asked again: it is busy, or makes the storage of a definition.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import orjson
import yaml

from agent.child_process import until

_PATIENCE = 120.0
_TIMEOUT = aiohttp.ClientTimeout(total=_PATIENCE)
_BUSY, _AGAIN_AFTER = 429, 0.2

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

Object = dict[str, Any]


class KubeApiError(RuntimeError):
    """The API server said no: its status code and its own message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Where an API server is and as whom to speak to it."""

    url: str
    ca_file: Path
    token: str

    def kubeconfig(self) -> bytes:
        """A kubeconfig file (JSON is YAML) with one context, which is the current one."""
        ca = str(self.ca_file)
        cluster = {"server": self.url, "certificate-authority": ca}
        context = {"cluster": "playground", "user": "playground"}
        return orjson.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "playground", "cluster": cluster}],
                "users": [{"name": "playground", "user": {"token": self.token}}],
                "contexts": [{"name": "playground", "context": context}],
                "current-context": "playground",
            },
            option=orjson.OPT_INDENT_2,
        )

    def write_kubeconfig(self, file: Path) -> Path:
        file.touch(mode=0o600)
        file.write_bytes(self.kubeconfig())
        return file


class KubeApi:
    """An open connection; get one from `kube_api`."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str) -> Object:
        return await self.call("GET", path)

    async def table(self, path: str) -> Object:
        """Columns and rows, as `kubectl get` asks for them."""
        return await self.call("GET", path, accept=_TABLE)

    async def create(self, path: str, body: Mapping[str, Any]) -> Object:
        return await self.call("POST", path, body)

    async def apply(
        self, path: str, body: Mapping[str, Any], manager: str = "playground"
    ) -> Object:
        """Server-side apply, taking over the fields of others."""
        query = f"?fieldManager={manager}&force=true"
        return await self.call("PATCH", path + query, body, "application/apply-patch+yaml")

    async def patch(self, path: str, body: Mapping[str, Any]) -> Object:
        return await self.call("PATCH", path, body, "application/merge-patch+json")

    async def delete(self, path: str) -> Object:
        return await self.call("DELETE", path)

    async def exists(self, path: str) -> bool:
        try:
            await self.get(path)
        except KubeApiError as error:
            if error.code not in (404, _BUSY):
                raise
            return False
        return True

    async def create_namespace(self, name: str) -> None:
        """Return when pods can be made in it, which is when it has its ServiceAccount."""
        await self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        async with asyncio.timeout(_PATIENCE):
            await until(partial(self.exists, account))

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Object:
        data = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": content_type, "Accept": accept}
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return await self._ask(method, path, data, headers)
            except KubeApiError as error:
                if error.code != _BUSY or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_AGAIN_AFTER)

    async def _ask(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> Object:
        async with self._session.request(method, path, data=data, headers=headers) as answer:
            content = await answer.read()
            if answer.status >= 400:
                raise KubeApiError(answer.status, _message(content))
            found: Object = orjson.loads(content)
            return found


@asynccontextmanager
async def kube_api(access: Access) -> AsyncIterator[KubeApi]:
    trust = ssl.create_default_context(cafile=str(access.ca_file))
    async with aiohttp.ClientSession(
        access.url,
        connector=aiohttp.TCPConnector(ssl=trust),
        headers={"Authorization": f"Bearer {access.token}"},
        timeout=_TIMEOUT,
    ) as session:
        yield KubeApi(session)


def _message(content: bytes) -> str:
    try:
        return str(orjson.loads(content)["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return content[:500].decode(errors="replace")


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
        return await api.exists(f"/apis/argoproj.io/v1alpha1/{plural}")

    await until(answers)
