"""A Git host on loopback: clone, fetch and push over HTTP, logins, signed webhooks after a push.

Repositories come and go at run time. What the helper commits and what a Git client pushes is
announced alike. The host can go down and come back on its port; its loop may be another than the
caller's. `answer` runs `git http-backend` as a CGI program.
"""

import asyncio
import base64
import hmac
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from aiohttp import web

from agent.loopback import free_port
from playground import gitstore
from playground.gitrepository import HostedRepository, HostLogin
from playground.pushes import DeliverySender

__all__ = ["GitHost", "HostLogin", "HostedRepository"]

_BODY_LIMIT = 1 << 30


class GitHost:
    """`async with GitHost(folder)` serves the repositories below the folder; by TLS if told how."""

    def __init__(self, folder: Path, tls: ssl.SSLContext | None = None) -> None:
        self.folder = folder
        self._tls = tls
        self._port = free_port()
        self._repositories: dict[str, HostedRepository] = {}
        self._deliveries = DeliverySender()
        self._receiving = asyncio.Lock()
        self._runner: web.AppRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def create(
        self, name: str, *, branch: str = "main", login: HostLogin | None = None
    ) -> HostedRepository:
        """An empty repository; `login` is asked for on every request."""
        if name in self._repositories:
            raise FileExistsError(f"{self.url} already has a repository {name}")
        path = f"{name}.git"
        repository = HostedRepository(
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
        if "/info/lfs/" in request.path:
            return await repository.lfs.answer(request, repository.url)
        if request.path.endswith("/git-receive-pack"):
            return await self._receive(request, repository)
        return await self._ask_git(request)

    async def _receive(self, request: web.Request, repository: HostedRepository) -> web.Response:
        async with self._receiving:
            before = repository.references()
            answer = await self._ask_git(request)
            repository.announce(before)
            return answer

    async def _ask_git(self, request: web.Request) -> web.Response:
        asked = GitRequest(
            method=request.method,
            path=request.path,
            query=request.query_string,
            content_type=request.headers.get("Content-Type", ""),
            protocol=request.headers.get("Git-Protocol", ""),
            user="playground",
            body=await request.read(),
        )
        output = await asyncio.to_thread(answer, self.folder, asked)
        return web.Response(status=output.status, headers=output.headers, body=output.body)


def _acknowledge_now(request: web.Request) -> None:
    """Spare libgit2 the 40 ms that Linux delays an acknowledgement.

    It sends head and body apart, and Nagle holds the body until the head is acknowledged.
    """
    connection = request.get_extra_info("socket")
    if connection is not None and hasattr(socket, "TCP_QUICKACK"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _knows(request: web.Request, login: HostLogin) -> bool:
    expected = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
    header = request.headers.get("Authorization", "")
    return hmac.compare_digest(header.encode(), f"Basic {expected}".encode())


_ANSWERS_WITHIN = 120
# The user's own Git settings must not change what a test sees.
_HERMETIC = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


class GitRequest(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: str
    content_type: str
    protocol: str
    user: str
    body: bytes


class GitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: dict[str, str]
    body: bytes


def answer(root: Path, request: GitRequest) -> GitAnswer:
    """Blocking: call it in a thread."""
    done = subprocess.run(
        ["git", "http-backend"],
        input=request.body,
        env={"PATH": os.environ["PATH"], **_HERMETIC, **_variables(root, request)},
        capture_output=True,
        timeout=_ANSWERS_WITHIN,
        check=False,
    )
    if done.returncode != 0 and not done.stdout:
        return GitAnswer(status=500, headers={}, body=done.stderr)
    return _parse(done.stdout)


def _variables(root: Path, request: GitRequest) -> dict[str, str]:
    return {
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": request.method,
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "CONTENT_TYPE": request.content_type,
        "CONTENT_LENGTH": str(len(request.body)),
        "GIT_PROTOCOL": request.protocol,
        "REMOTE_USER": request.user,
        "REMOTE_ADDR": "127.0.0.1",
    }


def _parse(output: bytes) -> GitAnswer:
    head, _, body = output.partition(b"\r\n\r\n")
    pairs = (line.partition(":") for line in head.decode().splitlines())
    headers = {name.strip(): value.strip() for name, _, value in pairs}
    status = int(headers.pop("Status", "200 OK").split()[0])
    return GitAnswer(status=status, headers=headers, body=body)
