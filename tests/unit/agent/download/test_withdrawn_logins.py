"""What a login has opened is served to that login only, also where it is on the agent's disk."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp import web

from agent.git.credential_identity import open_identities
from agent.git.credentials import GitCredential
from bus.identity import Revision
from bus.status import Reason
from handlers.application.spec import Source
from handlers.ports import RepositoryError
from playground.charthost import ChartHost, packaged
from playground.registry import CHART_LAYER
from sandbox.client import Sandbox
from sandbox.client.limits import SandboxLimits
from tests.unit.agent.download.reader import SourceReading, answering, source_reading

LOGIN = {"username": "kim", "password": "a-password-nobody-may-see"}


@pytest.fixture
async def make_reader(
    sandbox_binary: Path, tmp_path: Path
) -> AsyncIterator[Callable[[], SourceReading]]:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as pool:
        yield lambda: source_reading(tmp_path, pool)


async def assert_refused(reader: SourceReading, url: str, project: str) -> None:
    access = reader.sources.access(Source(repo_url=url, chart="web"), project)
    with pytest.raises(RepositoryError) as resolved:
        await reader.sources.resolve(access, "1.0.0")
    with pytest.raises(RepositoryError) as read:
        await reader.sources.tree(access, Revision("1.0.0"))
    assert {resolved.value.reason, read.value.reason} == {Reason.CREDENTIALS_REFUSED}


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_chart_that_a_login_fetched_is_not_served_without_that_login(
    make_reader: Callable[[], SourceReading],
    restarted: bool,  # noqa: FBT001  a table
) -> None:
    reader = make_reader()
    async with ChartHost((LOGIN["username"], LOGIN["password"])) as host:
        host.publish("web", "1.0.0")
        reader.secret(host.url, **LOGIN)
        assert (await reader.files(host.url, "1.0.0", "web")).entry("Chart.yaml")
        if restarted:
            reader = make_reader()
        reader.secrets.clear()
        reader.secret(host.url, **LOGIN, project="a")

        await assert_refused(reader, host.url, "b")
        await assert_refused(reader, host.url, "")
        own = reader.sources.access(Source(repo_url=host.url, chart="web"), "a")
        assert await reader.sources.resolve(own, "1.0.0") == "1.0.0"
        reader.secrets.clear()
        reader.secret(host.url, username="kim", password="a-wrong-password")
        await assert_refused(reader, host.url, "a")


async def test_a_chart_stays_kept_where_only_the_secret_of_its_login_has_another_name(
    make_reader: Callable[[], SourceReading],
) -> None:
    reader = make_reader()
    async with ChartHost((LOGIN["username"], LOGIN["password"])) as host:
        host.publish("web", "1.0.0")
        reader.secret(host.url, **LOGIN)
        await reader.files(host.url, "1.0.0", "web")
        asked = len(host.requests)
        reader.secrets.clear()
        reader.secret(host.url.removesuffix("/charts"), kind="repo-creds", **LOGIN)

        assert (await reader.files(host.url, "1.0.0", "web")).entry("Chart.yaml")
        assert len(host.requests) == asked


async def test_a_registry_is_not_sent_a_login_that_its_secret_has_no_longer(
    make_reader: Callable[[], SourceReading],
) -> None:
    reader, seen = make_reader(), []
    archive = packaged("web", "1.0.0")
    digest = f"sha256:{hashlib.sha256(archive).hexdigest()}"
    config = {"mediaType": "application/vnd.cncf.helm.config.v1+json"}
    layer = {"mediaType": CHART_LAYER, "digest": digest}
    manifest = json.dumps({"config": config, "layers": [layer]})

    async def answer(request: web.Request) -> web.Response:
        login = request.headers.get("Authorization", "")
        seen.append(login)
        if not login:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
        if "/blobs/" in request.path:
            return web.Response(body=archive)
        return web.Response(text=manifest)

    async with answering(answer) as url:
        address = url.removeprefix("http://")
        reader.secret(address, insecureOCIForceHttp="true", **LOGIN)
        assert (await reader.files(address, "1.0.0", "web")).entry("Chart.yaml")
        assert any(seen)
        reader.secrets.clear()
        reader.secret(address, insecureOCIForceHttp="true")
        seen.clear()

        await assert_refused(reader, address, "shop")
        assert not any(seen)


def test_the_name_of_a_login_says_nothing_of_it_and_holds_over_a_restart(tmp_path: Path) -> None:
    login = GitCredential(username="kim", password="secret")
    moved = GitCredential(username="kims", password="ecret")
    here = open_identities(tmp_path / "here")
    elsewhere = open_identities(tmp_path / "elsewhere")

    assert here.of(login) == open_identities(tmp_path / "here").of(login)
    assert here.of(login) != elsewhere.of(login)
    assert here.of(login) != here.of(moved)
    assert here.of(None) == here.of(GitCredential(proxy="http://proxy.example")) == ""
    assert (tmp_path / "here" / "identity.key").stat().st_mode & 0o077 == 0
