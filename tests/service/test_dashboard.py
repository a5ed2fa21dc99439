"""The dashboard's files: the page for every address, nothing from outside its folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from service.dashboard import Pages

Client = TestClient[web.Request, web.Application]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    built = tmp_path / "static"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("<title>page</title>")
    (built / "assets" / "a-1234.js").write_text("let a")
    (built / ".built").write_text("stamp")
    (tmp_path / "secret").write_text("outside")
    return built


@pytest.fixture
async def client(folder: Path) -> AsyncIterator[Client]:
    app = web.Application()
    app.router.add_get("/{path:(?!api/).*}", Pages(folder).answer)
    async with TestClient(TestServer(app)) as client:
        yield client


async def fetch(client: Client, path: str) -> tuple[int, str, aiohttp.typedefs.LooseHeaders]:
    answer = await client.get(path)
    return answer.status, await answer.text(), answer.headers


@pytest.mark.parametrize("path", ["/", "/applications/x/diff?tab=1", "/no/such/page"])
async def test_every_address_is_answered_with_the_page(client: Client, path: str) -> None:
    status, text, headers = await fetch(client, path)
    assert (status, text, headers["Cache-Control"]) == (200, "<title>page</title>", "no-cache")
    assert "default-src 'self'" in headers["Content-Security-Policy"]


async def test_a_built_file_may_be_kept_for_ever(client: Client) -> None:
    status, text, headers = await fetch(client, "/assets/a-1234.js")
    assert (status, text) == (200, "let a")
    assert "immutable" in headers["Cache-Control"]


@pytest.mark.parametrize(
    "path", ["/../secret", "/%2e%2e/secret", "/assets/../../secret", "/.built"]
)
async def test_no_file_outside_the_dashboard_is_served(client: Client, path: str) -> None:
    _, text, _ = await fetch(client, path)
    assert text not in ("outside", "stamp")


async def test_the_api_is_not_answered_with_a_page(client: Client) -> None:
    assert (await fetch(client, "/api/v1/nothing"))[0] == 404


async def test_a_service_without_dashboard_says_how_to_build_it(
    folder: Path, client: Client
) -> None:
    (folder / "index.html").unlink()
    status, text, _ = await fetch(client, "/")
    assert status == 503
    assert "make web" in text
