"""A Git host on loopback: clone, fetch and push over HTTP, logins, signed webhooks after a push.

Repositories come and go at run time. What the helper commits and what a Git client pushes is
announced alike. The host can go down and come back on its port; its loop may be another than the
caller's.
"""

import asyncio
import base64
import hmac
import shutil
import socket
import ssl
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from agent.loopback import free_port
from playground import cgi, gitstore
from playground.deliveries import Deliveries
from playground.gitrepository import Login, Repository

__all__ = ["GitHost", "Login", "Repository"]

_BODY_LIMIT = 1 << 30


class GitHost:
    """`async with GitHost(folder)` serves the repositories below the folder; by TLS if told how."""

    def __init__(self, folder: Path, tls: ssl.SSLContext | None = None) -> None:
        self.folder = folder
        self._tls = tls
        self._port = free_port()
        self._repositories: dict[str, Repository] = {}
        self._deliveries = Deliveries()
        self._receiving = asyncio.Lock()
        self._runner: web.AppRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def create(self, name: str, *, branch: str = "main", login: Login | None = None) -> Repository:
        """An empty repository; `login` is asked for on every request."""
        if name in self._repositories:
            raise FileExistsError(f"{self.url} already has a repository {name}")
        path = f"{name}.git"
        repository = Repository(
            name, f"{self.url}/{path}", self.folder / path, branch, self._deliveries.put
        )
        repository.login = login
        gitstore.create_repository(repository.folder, branch)
        self._repositories[name] = repository
        return repository

    def remove(self, name: str) -> None:
        """From now on the answer is 404."""
        shutil.rmtree(self._repositories.pop(name).folder)

    async def down(self) -> None:
        """Connections are refused until `up`."""
        await self._at_home(self._close())

    async def up(self) -> None:
        await self._at_home(self._listen())

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._listen()
        await self._deliveries.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._deliveries.__aexit__(kind, error, trace)
        finally:
            await self._close()

    async def _listen(self) -> None:
        if self._runner is not None:
            return
        application = web.Application(client_max_size=_BODY_LIMIT)
        application.router.add_route("*", "/{path:.+}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(
            self._runner, "127.0.0.1", self._port, reuse_address=True, ssl_context=self._tls
        )
        await site.start()

    async def _close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _at_home(self, work: Coroutine[Any, Any, None]) -> None:
        if self._loop is None or self._loop is asyncio.get_running_loop():
            await work
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _serve(self, request: web.Request) -> web.Response:
        _acknowledge_now(request)
        name, _, _ = request.path.strip("/").partition(".git/")
        repository = self._repositories.get(name)
        if repository is None:
            return web.Response(status=404, text="no such repository")
        if repository.login is not None and not _knows(request, repository.login):
            challenge = {"WWW-Authenticate": 'Basic realm="playground"'}
            return web.Response(status=401, headers=challenge)
        if request.path.endswith("/git-receive-pack"):
            return await self._receive(request, repository)
        return await self._ask_git(request)

    async def _receive(self, request: web.Request, repository: Repository) -> web.Response:
        async with self._receiving:
            before = repository.references()
            answer = await self._ask_git(request)
            repository.announce(before)
            return answer

    async def _ask_git(self, request: web.Request) -> web.Response:
        asked = cgi.GitRequest(
            method=request.method,
            path=request.path,
            query=request.query_string,
            content_type=request.headers.get("Content-Type", ""),
            protocol=request.headers.get("Git-Protocol", ""),
            user="playground",
            body=await request.read(),
        )
        said = await asyncio.to_thread(cgi.answer, self.folder, asked)
        return web.Response(status=said.status, headers=said.headers, body=said.body)


def _acknowledge_now(request: web.Request) -> None:
    """Spare libgit2 the 40 ms that Linux delays an acknowledgement.

    It sends head and body apart, and Nagle holds the body until the head is acknowledged.
    """
    connection = request.get_extra_info("socket")
    if connection is not None and hasattr(socket, "TCP_QUICKACK"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _knows(request: web.Request, login: Login) -> bool:
    wanted = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
    given = request.headers.get("Authorization", "")
    return hmac.compare_digest(given.encode(), f"Basic {wanted}".encode())
