"""A Helm repository over HTTP: packaged charts and their index, with a login where one is wanted.

Charts are packaged as Helm does it: a gzipped tar of one folder of the chart's name. The index is
written as `helm repo index` writes it, and has an ETag.
"""

from __future__ import annotations

import hashlib
import io
import ssl
import tarfile
from base64 import b64encode
from collections.abc import Mapping
from typing import Self

from aiohttp import web
from aiohttp.test_utils import TestServer

CHART = "apiVersion: v2\nname: {name}\nversion: {version}\n"
TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {version: "{{ .Chart.Version }}", greeting: "{{ .Values.greeting }}"}
"""


def packaged(name: str, version: str, files: Mapping[str, str] | None = None) -> bytes:
    """Package a chart; `files` are beside or in place of its Chart.yaml, template and values."""
    content = {
        "Chart.yaml": CHART.format(name=name, version=version),
        "values.yaml": "greeting: hello\n",
        "templates/config.yaml": TEMPLATE,
        **(files or {}),
    }
    return tar_gz({f"{name}/{path}": text.encode() for path, text in content.items()})


def tar_gz(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


class ChartHost:
    """Serve charts on a free port of loopback: `async with`."""

    def __init__(
        self, login: tuple[str, str] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.requests: list[tuple[str, int, bool]] = []
        """Path and status of every request, and whether it came with a login."""
        self._login = login
        self._tls = tls
        self._charts: dict[str, dict[str, bytes]] = {}
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self._server = TestServer(app, scheme="https" if tls else "http")

    async def __aenter__(self) -> Self:
        await self._server.start_server(ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        return str(self._server.make_url("/charts"))

    def publish(self, name: str, version: str, files: Mapping[str, str] | None = None) -> None:
        self._charts.setdefault(name, {})[version] = packaged(name, version, files)

    def remove(self, name: str, version: str) -> None:
        del self._charts[name][version]

    def index(self) -> str:
        lines = ["apiVersion: v1", "entries:"]
        for name, versions in self._charts.items():
            lines.append(f"  {name}:")
            for version, archive in versions.items():
                lines += [
                    "  - apiVersion: v2",
                    f"    digest: {hashlib.sha256(archive).hexdigest()}",
                    f"    name: {name}",
                    "    urls:",
                    f"    - {name}-{version}.tgz",
                    f"    version: {version}",
                ]
        return "\n".join([*lines, 'generated: "2026-01-01T00:00:00Z"', ""])

    async def _answer(self, request: web.Request) -> web.Response:
        answer = self._content(request)
        path = request.path.removeprefix("/charts/")
        self.requests.append((path, answer.status, "Authorization" in request.headers))
        return answer

    def _content(self, request: web.Request) -> web.Response:
        if self._login and request.headers.get("Authorization") != _basic(*self._login):
            return web.Response(status=401)
        path = request.path.removeprefix("/charts/")
        if path == "index.yaml":
            text = self.index()
            etag = f'"{hashlib.sha256(text.encode()).hexdigest()}"'
            if request.headers.get("If-None-Match") == etag:
                return web.Response(status=304)
            return web.Response(text=text, headers={"ETag": etag})
        for name, versions in self._charts.items():
            for version, archive in versions.items():
                if path == f"{name}-{version}.tgz":
                    return web.Response(body=archive)
        return web.Response(status=404)


def _basic(username: str, password: str) -> str:
    return "Basic " + b64encode(f"{username}:{password}".encode()).decode()
