"""What an error names of the versions that strangers wrote, and how long a target may be."""

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web

from agent.download.chosen_version import absent
from agent.download.failures import DownloadServer
from agent.oci.answers import RegistryAnswerError, tags_of
from agent.similar_names import similar_names
from bus.status import Reason
from handlers.ports import RepositoryError
from sandbox.client import Sandbox
from sandbox.client.limits import SandboxLimits
from tests.unit.agent.download.reader import answering, source_reading

SERVER = DownloadServer(name="https://charts.example (web)", host="charts.example")
HARD = "1.0.0-" + "".join(chr(65 + number % 26) + "a" * (number % 7) for number in range(5000))


@pytest.mark.parametrize(
    ("wanted", "names", "similar"),
    [
        ("1.2.3", ["9.0.0", "1.2.4", "1.12.3"], ("1.12.3", "1.2.4")),
        ("mian", ["main", "x", "topic"], ("main",)),
        ("q", ["main", "topic"], ("main", "topic")),
        ("1.0", ["1.0-" + "x" * 200, "1.1"], ("1.1",)),
        ("", ["main"], ("main",)),
        ("main", [], ()),
    ],
)
def test_similar_names_share_begin_and_end_and_long_ones_are_not_shown(
    wanted: str, names: list[str], similar: tuple[str, ...]
) -> None:
    found = similar_names(wanted, names)

    assert found[: len(similar)] == similar
    assert len(found) == len(similar)


def test_long_versions_of_strangers_are_not_compared() -> None:
    error = absent(SERVER, HARD, [HARD[::-1], *(HARD[n:] for n in range(1000)), "1.0.1"])

    assert "among 1002 versions" in error.message
    assert "xa" not in error.message.partition("there are")[2]


@pytest.mark.parametrize(
    ("url", "chart"), [("https://charts.invalid", "web"), ("oci://r.invalid/a", "")]
)
async def test_a_target_that_is_too_long_is_refused_before_a_server_is_asked(
    tmp_path: Path, sandbox_binary: Path, url: str, chart: str
) -> None:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox:
        reader = source_reading(tmp_path, sandbox)
        with pytest.raises(RepositoryError, match="more than the 256 of any") as caught:
            await reader.resolved(url, "1" * 257, chart)
    assert caught.value.reason is Reason.REVISION_NOT_FOUND


async def test_the_time_limit_is_one_for_all_redirects_of_a_file(
    tmp_path: Path, sandbox_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each redirect takes less than the limit, and all of them more."""
    monkeypatch.setattr("agent.download.downloader._SECONDS", 0.4)

    async def answer(request: web.Request) -> web.Response:
        await asyncio.sleep(0.2)
        hops = int(request.query.get("hops", "0"))
        if hops == 4:
            return web.Response(text="entries:\n  web:\n  - version: 1.0.0\n")
        return web.Response(status=302, headers={"Location": f"?hops={hops + 1}"})

    async with (
        Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox,
        answering(answer) as url,
    ):
        with pytest.raises(RepositoryError, match=r"index\.yaml did not come within 0\.4 s"):
            await source_reading(tmp_path, sandbox).resolved(url, "1.0.0", "web")


async def test_the_time_limit_is_one_for_all_pages_of_tags(
    tmp_path: Path, sandbox_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.oci.registry._TAGS_SECONDS", 0.4)

    async def answer(request: web.Request) -> web.Response:
        if not request.path.endswith("/tags/list"):
            return web.Response(status=404)
        await asyncio.sleep(0.2)
        page = int(request.query.get("page", "0"))
        more = {"Link": f'<?page={page + 1}>; rel="next"'} if page < 4 else {}
        return web.json_response({"tags": [f"1.0.{page}"]}, headers=more)

    async with (
        Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox,
        answering(answer) as url,
    ):
        reader = source_reading(tmp_path, sandbox)
        address = "oci" + url.removeprefix("http")
        reader.secret(address, kind="repo-creds", insecureOCIForceHttp="true")
        with pytest.raises(RepositoryError, match=r"list of tags did not come within 0\.4 s"):
            await reader.resolved(address, ">=1")


def test_a_page_of_tags_has_names_that_a_registry_takes_and_not_too_many() -> None:
    page = json.dumps({"tags": ["1.0.0", "a" * 129, "ü", "", "-a", "latest"]}).encode()

    assert tags_of(page) == ("1.0.0", "latest")
    with pytest.raises(RegistryAnswerError, match="more than 200000 on a page"):
        tags_of(b'{"tags":[' + b'"",' * 1_000_000 + b'""]}')
