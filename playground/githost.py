"""A Git host on loopback: clone, fetch and push over HTTP, logins, signed webhooks after a push.

Repositories come and go at run time. A commit can be written straight into the bare repository,
which is what most tests want, or pushed with any Git client; both are announced alike, by one task
that delivers in order and keeps what became of each delivery. The host can go down and come back
on its port. Its loop may be another than the caller's.
"""

import asyncio
import base64
import hmac
import shutil
import socket
import uuid
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import msgspec
from aiohttp import web

from agent.child import free_port
from playground import cgi, gitstore
from playground.gitstore import NOTHING, Changes
from playground.pushes import Push, Webhook, headers, payload

_BODY_LIMIT = 1 << 30
_DELIVERY_TIMEOUT = aiohttp.ClientTimeout(total=10)


class Login(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    password: str


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one webhook: the receiver's status, or why there is none."""

    id: str
    push: Push
    status: int | None
    error: str = ""


class Repository:
    """A repository of the host. Any thread may use it."""

    def __init__(self, host: "GitHost", name: str, branch: str) -> None:
        self.name = name
        self.branch = branch
        self.login: Login | None = None
        self.webhook: Webhook | None = None
        self.deliveries: list[Delivery] = []
        self._host = host

    @property
    def url(self) -> str:
        return f"{self._host.url}/{self.name}.git"

    @property
    def folder(self) -> Path:
        return self._host.folder / f"{self.name}.git"

    def commit(self, changes: Changes, *, branch: str = "", message: str = "change") -> str:
        """As a push of one commit would: None removes a path; announced; returns its id."""
        before = gitstore.references(self.folder)
        made = gitstore.commit(self.folder, changes, branch or self.branch, message)
        self.announce(before)
        return made

    def read(self, path: str, *, branch: str = "") -> bytes | None:
        return gitstore.read(self.folder, path, f"refs/heads/{branch or self.branch}")

    def head(self, branch: str = "") -> str:
        return gitstore.references(self.folder)[f"refs/heads/{branch or self.branch}"]

    def announce(self, before: dict[str, str]) -> None:
        """Queue a webhook for every reference that is not where it was before."""
        after = gitstore.references(self.folder)
        for name in sorted(before.keys() | after.keys()):
            old, new = before.get(name, NOTHING), after.get(name, NOTHING)
            if old != new and self.webhook is not None:
                self._host.deliver(self, self._push(name, old, new), str(uuid.uuid4()))

    def redeliver(self, delivery: Delivery) -> None:
        """The same push with the same delivery id, as a person can ask of a real host."""
        self._host.deliver(self, delivery.push, delivery.id)

    def _push(self, reference: str, before: str, after: str) -> Push:
        return Push(
            repository=self.name,
            clone_url=self.url,
            reference=reference,
            before=before,
            after=after,
            forced=gitstore.is_forced(self.folder, before, after),
            commits=gitstore.commits_between(self.folder, before, after),
        )


class GitHost:
    """`async with GitHost(folder)` serves the repositories below the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = free_port()
        self._repositories: dict[str, Repository] = {}
        self._pushes: asyncio.Queue[tuple[Repository, Push, str]] = asyncio.Queue()
        self._receiving = asyncio.Lock()
        self._runner: web.AppRunner | None = None
        self._deliverer: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def create(self, name: str, *, branch: str = "main", login: Login | None = None) -> Repository:
        """An empty repository; `login` is asked for on every request."""
        if name in self._repositories:
            raise FileExistsError(f"{self.url} already has a repository {name}")
        repository = Repository(self, name, branch)
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

    def deliver(self, repository: Repository, push: Push, delivery: str) -> None:
        """Queue it. From any thread."""
        if self._loop is not None:
            waiting = (repository, push, delivery)
            self._loop.call_soon_threadsafe(self._pushes.put_nowait, waiting)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._listen()
        self._deliverer = self._loop.create_task(self._deliver_all(), name="webhook deliveries")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._stop_delivering()
        finally:
            await self._close()

    async def _stop_delivering(self) -> None:
        if self._deliverer is not None:
            self._deliverer.cancel()
            with suppress(asyncio.CancelledError):
                await self._deliverer

    async def _listen(self) -> None:
        if self._runner is not None:
            return
        application = web.Application(client_max_size=_BODY_LIMIT)
        application.router.add_route("*", "/{path:.+}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()

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
            before = gitstore.references(repository.folder)
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

    async def _deliver_all(self) -> None:
        async with aiohttp.ClientSession(timeout=_DELIVERY_TIMEOUT) as session:
            while True:
                repository, push, delivery = await self._pushes.get()
                status, error = await _deliver(session, repository, push, delivery)
                repository.deliveries.append(
                    Delivery(id=delivery, push=push, status=status, error=error)
                )


async def _deliver(
    session: aiohttp.ClientSession, repository: Repository, push: Push, delivery: str
) -> tuple[int | None, str]:
    webhook = repository.webhook
    if webhook is None:
        return None, "the webhook was removed"
    body = payload(push, repository.branch)
    signed = headers(body, webhook.secret, delivery)
    try:
        async with session.post(webhook.url, data=body, headers=signed) as answer:
            return answer.status, ""
    except (aiohttp.ClientError, TimeoutError) as error:
        return None, repr(error)


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
