"""One demo and one browser for all browser tests; each test is a person of its own.

Both end with the last of these tests, not with the session: two clusters and two agents that do
nothing take a quarter of a processor.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, StorageState

from playground.background import BackgroundLoop
from playground.demo.control_plane import ADMINISTRATOR
from playground.demo.running_demo import RunningDemo, create_remote_application, open_running_demo
from tests.browser.browser_scene import VIEWER, BrowserScene
from tests.browser.chromium import chromium, context_of, login_state


@pytest.fixture(scope="package")
def scene_folder() -> Iterator[Path]:
    """Open to every account, which pytest's own is not: under root PostgreSQL runs as another."""
    with tempfile.TemporaryDirectory(prefix="browser-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="package")
def scene(scene_folder: Path, sandbox_binary: Path) -> Iterator[BrowserScene]:
    with BackgroundLoop("browser-demo") as loop:
        demo: RunningDemo = loop.enter(open_running_demo(scene_folder, sandbox_binary))
        loop.call(create_remote_application(demo))
        scene = BrowserScene(demo=demo, background=loop)
        scene.furnish()
        yield scene


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as one:
        yield one


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def admin_login(browser: Browser, scene: BrowserScene) -> StorageState:
    password = scene.demo.service.password
    return await login_state(browser, scene.url, ADMINISTRATOR, password)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def viewer_login(browser: Browser, scene: BrowserScene) -> StorageState:
    """Somebody who may look and not touch, made as an administrator makes one."""
    password = secrets.token_urlsafe(12)
    body = {"name": VIEWER, "displayName": "Vera", "password": password}
    person = await scene.post("/principals", body)
    roles = (await scene.get("/roles?limit=100"))["items"]
    role = next(one["id"] for one in roles if one["name"] == "viewer")
    await scene.post("/bindings", {"principal": person["id"], "role": role})
    return await login_state(browser, scene.url, VIEWER, password)


@pytest_asyncio.fixture(loop_scope="session")
async def page(
    browser: Browser, scene: BrowserScene, admin_login: StorageState
) -> AsyncIterator[Page]:
    async with context_of(browser, scene.url, admin_login) as context:
        yield await context.new_page()


@pytest_asyncio.fixture(loop_scope="session")
async def viewer(
    browser: Browser, scene: BrowserScene, viewer_login: StorageState
) -> AsyncIterator[Page]:
    async with context_of(browser, scene.url, viewer_login) as context:
        yield await context.new_page()


@pytest_asyncio.fixture(loop_scope="session")
async def stranger(browser: Browser, scene: BrowserScene) -> AsyncIterator[Page]:
    async with context_of(browser, scene.url) as context:
        yield await context.new_page()
