"""The demo's control plane: the service as a child process, and an administrator's hand.

The administrator does what a person does in the browser: logs in, creates an agent, takes its
one-time token.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_ok, free_port
from playground.server import Server

ACCOUNT = "demo"
ADMINISTRATOR = "admin"
GITOPS = (sys.executable, "-c", "from cli.main import main; main()")
_TIMEOUT = aiohttp.ClientTimeout(total=60)


class DemoServiceError(RuntimeError):
    """The service said no: its status and its own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoService:
    """The service, and a session of its administrator."""

    server: Server
    password: str
    session: aiohttp.ClientSession
    csrf: str

    @property
    def url(self) -> str:
        return self.server.url

    async def get(self, path: str) -> dict[str, Any]:
        return await self._call("GET", path, None)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return await self._call("POST", path, body or {})

    async def new_agent(self, name: str, environment: str, region: str) -> str:
        """Create an agent; the one-time token with which it enrols."""
        body = {"name": name, "environment": environment, "region": region}
        agent = await self.post("/agents", body)
        made = await self.post(f"/agents/{agent['id']}/enrolment-token")
        return str(made["token"])

    async def new_token(self, name: str) -> str:
        """Create an API token of the administrator; the secret, for a week."""
        me = await self.get("/me")
        path = f"/principals/{me['principal']['id']}/tokens"
        return str((await self.post(path, {"name": name, "days": 7}))["token"])

    async def application(self, agent: str, name: str) -> dict[str, Any] | None:
        listed = await self.get(f"/applications?search={name}")
        return next(
            (
                one
                for one in listed["items"]
                if (one["agent"]["name"], one["name"]) == (agent, name)
            ),
            None,
        )

    async def cluster(self, name: str) -> dict[str, Any] | None:
        listed = await self.get("/clusters")
        return next((one for one in listed["items"] if one["name"] == name), None)

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        headers = {"X-CSRF-Token": self.csrf, "Origin": self.url}
        async with self.session.request(
            method, f"/api/v1{path}", json=body, headers=headers
        ) as answer:
            if answer.status >= 400:
                raise DemoServiceError(f"{method} {path}: {answer.status} {await answer.text()}")
            found: dict[str, Any] = await answer.json()
            return found


@asynccontextmanager
async def open_demo_service(folder: Path, database_url: str) -> AsyncIterator[DemoService]:
    """The service runs, and its administrator is logged in."""
    password = secrets.token_urlsafe(12)
    file = await asyncio.to_thread(written, folder / "admin-password", password)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(_service(folder, database_url, file))
        session = await stack.enter_async_context(
            aiohttp.ClientSession(
                server.url, timeout=_TIMEOUT, cookie_jar=aiohttp.CookieJar(unsafe=True)
            )
        )
        csrf = await _login(session, server.url, password)
        yield DemoService(server=server, password=password, session=session, csrf=csrf)


@asynccontextmanager
async def _service(folder: Path, database_url: str, password_file: Path) -> AsyncIterator[Server]:
    port = free_port()
    program = ChildProgram(
        name="gitops-service",
        command=(*GITOPS, "service", "run"),
        folder=folder,
        environment={
            "GITOPS_SERVICE_DATABASE_URL": database_url,
            "GITOPS_SERVICE_PORT": str(port),
            "GITOPS_SERVICE_METRICS_PORT": str(free_port()),
            "GITOPS_SERVICE_MIGRATE": "true",
            "GITOPS_SERVICE_KEY_FILE": str(folder / "service.key"),
            "GITOPS_SERVICE_KEY_GENERATE": "true",
            "GITOPS_SERVICE_ACCOUNT": ACCOUNT,
            "GITOPS_SERVICE_ADMIN_NAME": ADMINISTRATOR,
            "GITOPS_SERVICE_ADMIN_PASSWORD_FILE": str(password_file),
            "GITOPS_SERVICE_ROOTS_SECONDS": "15",
        },
        ready_within=120,
    )
    url = f"http://127.0.0.1:{port}"
    async with ChildProcess(program, answers_ok(f"{url}/healthz")) as child:
        yield Server(url=url, child=child)


def written(file: Path, secret: str) -> Path:
    """The secret in a file that only we can read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(secret)
    return file


async def _login(session: aiohttp.ClientSession, url: str, password: str) -> str:
    body = {"name": ADMINISTRATOR, "password": password}
    async with session.post("/api/v1/login", json=body, headers={"Origin": url}) as answer:
        if answer.status != 200:
            raise DemoServiceError(f"login: {answer.status} {await answer.text()}")
        return str((await answer.json())["csrf"])


_KEY_BYTES = 12
_SIGN_IN_SECONDS = aiohttp.ClientTimeout(total=30)


@asynccontextmanager
async def open_sign_in(service: DemoService) -> AsyncIterator[str]:
    """Serve the link, and yield its URL."""
    key = secrets.token_urlsafe(_KEY_BYTES)

    async def sign_in(request: web.Request) -> web.Response:
        cookies = await _new_session(service, request.headers.get("User-Agent", ""))
        answer = web.HTTPFound(service.url, headers={"Cache-Control": "no-store"})
        for cookie in cookies:
            answer.headers.add("Set-Cookie", cookie)
        raise answer

    application = web.Application()
    application.router.add_get(f"/{key}", sign_in)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{port}/{key}"
    finally:
        await runner.cleanup()


async def _new_session(service: DemoService, browser: str) -> list[str]:
    """Log in for the browser; the answer is what its cookies are set with."""
    body = {"name": ADMINISTRATOR, "password": service.password}
    headers = {"Origin": service.url, "User-Agent": browser}
    async with (
        aiohttp.ClientSession(service.url, timeout=_SIGN_IN_SECONDS) as session,
        session.post("/api/v1/login", json=body, headers=headers) as answer,
    ):
        answer.raise_for_status()
        return answer.headers.getall("Set-Cookie", [])
