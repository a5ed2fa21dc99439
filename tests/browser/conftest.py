"""One house and one browser for all tests here; each test is a person of its own."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, StorageState

from playground.background import BackgroundLoop
from playground.demo.far_end import ADMINISTRATOR
from playground.demo.house import House, create_remote_application, open_house
from tests.browser.chromium import chromium, context_of, login_state
from tests.browser.scene import VIEWER, Scene


@pytest.fixture(scope="session")
def house_folder() -> Iterator[Path]:
    """Open to every account, which pytest's own is not: under root PostgreSQL runs as another."""
    with tempfile.TemporaryDirectory(prefix="browser-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="session")
def scene(house_folder: Path, sandbox_binary: Path) -> Iterator[Scene]:
    with BackgroundLoop("browser-house") as loop:
        house: House = loop.enter(open_house(house_folder, sandbox_binary))
        loop.call(create_remote_application(house))
        scene = Scene(house=house, background=loop)
        scene.furnish()
        yield scene


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as one:
        yield one


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def admin_login(browser: Browser, scene: Scene) -> StorageState:
    password = scene.house.far_end.password
    return await login_state(browser, scene.url, ADMINISTRATOR, password)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def viewer_login(browser: Browser, scene: Scene) -> StorageState:
    """Somebody who may look and not touch, made as an administrator makes one."""
    password = secrets.token_urlsafe(12)
    body = {"name": VIEWER, "displayName": "Vera", "password": password}
    person = await scene.post("/principals", body)
    roles = (await scene.get("/roles?limit=100"))["items"]
    role = next(one["id"] for one in roles if one["name"] == "viewer")
    await scene.post("/bindings", {"principal": person["id"], "role": role})
    return await login_state(browser, scene.url, VIEWER, password)


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, scene: Scene, admin_login: StorageState) -> AsyncIterator[Page]:
    async with context_of(browser, scene.url, admin_login) as context:
        yield await context.new_page()


@pytest_asyncio.fixture(loop_scope="session")
async def viewer(browser: Browser, scene: Scene, viewer_login: StorageState) -> AsyncIterator[Page]:
    async with context_of(browser, scene.url, viewer_login) as context:
        yield await context.new_page()


@pytest_asyncio.fixture(loop_scope="session")
async def stranger(browser: Browser, scene: Scene) -> AsyncIterator[Page]:
    async with context_of(browser, scene.url) as context:
        yield await context.new_page()
