"""Charts of a real Helm repository over HTTP, and of servers that mean no good."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bus.identity import Revision
from bus.status import Reason
from handlers.application.spec import HelmSource, Source
from handlers.ports import RepositoryError
from playground.certificates import make_authority, serving
from playground.charthost import ChartHost, packaged
from sandbox.client import Sandbox
from sandbox.client.limits import SandboxLimits
from tests.unit.agent.download.reader import SourceReading, answering, source_reading, text_of

LOGIN = ("kim", "a-password-nobody-may-see")


@pytest.fixture
async def sandbox(sandbox_binary: Path) -> AsyncIterator[Sandbox]:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as pool:
        yield pool


@pytest.fixture
def make_reader(tmp_path: Path, sandbox: Sandbox) -> Callable[[], SourceReading]:
    """Two readers have one folder, as an agent has before and after a restart."""

    return lambda: source_reading(tmp_path, sandbox)


@pytest.fixture
def reader(make_reader: Callable[[], SourceReading]) -> SourceReading:
    return make_reader()


@pytest.fixture
async def host() -> AsyncIterator[ChartHost]:
    async with ChartHost() as opened:
        for version in ("1.0.0", "1.2.0", "2.0.0-rc.1"):
            opened.publish("web", version)
        yield opened


def index_of(url: str, digest: str = "") -> str:
    return f"entries:\n  web:\n  - version: 1.0.0\n    digest: {digest}\n    urls:\n    - {url}\n"


async def test_versions_and_ranges_resolve_and_the_chart_is_the_root(
    reader: SourceReading, host: ChartHost
) -> None:
    access = reader.access(host.url, "web")

    assert await reader.sources.resolve(access, "^1") == "1.2.0"
    assert await reader.sources.resolve(access, "v1.0.0") == "1.0.0"
    assert await reader.sources.resolve(access, "*-0") == "2.0.0-rc.1"
    tree = await reader.sources.tree(access, Revision("1.2.0"))
    assert "version: 1.2.0" in text_of(tree, "Chart.yaml")
    assert [entry.name for entry in tree.list("templates")] == ["config.yaml"]


async def test_an_index_that_has_not_changed_is_not_sent_again_and_a_new_version_is_found(
    reader: SourceReading, host: ChartHost
) -> None:
    access = reader.access(host.url, "web")
    assert await reader.sources.resolve(access, "1.x") == "1.2.0"
    await reader.sources.fetch(access)
    host.publish("web", "1.3.0")
    assert await reader.sources.resolve(access, "1.x") == "1.2.0"
    await reader.sources.fetch(access)

    assert await reader.sources.resolve(access, "1.x") == "1.3.0"
    assert [status for _, status, _ in host.requests] == [200, 304, 200]


async def test_what_is_kept_survives_a_restart_and_the_loss_of_the_server(
    make_reader: Callable[[], SourceReading], host: ChartHost
) -> None:
    before = make_reader()
    await before.files(host.url, "1.2.0", "web")
    asked = len(host.requests)
    again = make_reader()

    tree = await again.files(host.url, "^1", "web")

    assert "version: 1.2.0" in text_of(tree, "Chart.yaml")
    assert len(host.requests) == asked


async def test_a_version_that_is_taken_back_stays_readable_and_one_published_anew_is_read_anew(
    reader: SourceReading, host: ChartHost
) -> None:
    access = reader.access(host.url, "web")
    await reader.files(host.url, "1.2.0", "web")
    host.remove("web", "1.2.0")
    await reader.sources.fetch(access)
    assert "1.2.0" in text_of(await reader.sources.tree(access, Revision("1.2.0")), "Chart.yaml")
    host.publish("web", "1.2.0", {"values.yaml": "greeting: anew\n"})
    await reader.sources.fetch(access)

    tree = await reader.sources.tree(access, Revision("1.2.0"))

    assert text_of(tree, "values.yaml") == "greeting: anew\n"


@pytest.mark.parametrize(
    ("chart", "target", "message"),
    [
        ("absent", "*", "no version of a chart 'absent'"),
        ("web", "1.9.9", "no version '1.9.9' among 3 versions; there are 1"),
        ("web", ">=7", "no version in the range '>=7' among 3 versions"),
        ("web", "latest", "neither a version nor a range"),
        ("web", "", "targetRevision is empty"),
    ],
)
async def test_what_is_not_there_is_named_with_what_is(
    reader: SourceReading, host: ChartHost, chart: str, target: str, message: str
) -> None:
    with pytest.raises(RepositoryError, match=message) as caught:
        await reader.sources.resolve(reader.access(host.url, chart), target)

    assert caught.value.reason is Reason.REVISION_NOT_FOUND


@pytest.mark.parametrize(
    ("kind", "below"), [("repository", ""), ("repo-creds", ""), ("repo-creds", "cha")]
)
async def test_a_login_of_a_secret_opens_the_repository_and_no_other(
    reader: SourceReading, kind: str, below: str
) -> None:
    """`…/cha` is a prefix of the text `…/charts`, and no folder above it."""
    async with ChartHost(LOGIN) as private:
        private.publish("web", "1.0.0")
        url = private.url.removesuffix("rts") if below else private.url
        reader.secret(url, kind=kind, username=LOGIN[0], password=LOGIN[1])
        if not below:
            assert text_of(await reader.files(private.url, "*", "web"), "Chart.yaml")
            state = reader.outcomes.of("argocd/helm")
            assert state is not None
            assert state.status == "Successful"
            return
        with pytest.raises(RepositoryError, match="no Secret fits this URL") as caught:
            await reader.files(private.url, "*", "web")
        assert caught.value.reason is Reason.CREDENTIALS_REFUSED
        assert not any(with_login for _, _, with_login in private.requests)


async def test_a_refused_login_is_the_state_of_its_connection_and_is_not_shown(
    reader: SourceReading,
) -> None:
    async with ChartHost(LOGIN) as private:
        private.publish("web", "1.0.0")
        reader.secret(private.url, username=LOGIN[0], password="wrong-" + LOGIN[1])
        with pytest.raises(RepositoryError, match=r"HTTP 401 .*Secret argocd/helm") as caught:
            await reader.files(private.url, "*", "web")

    state = reader.outcomes.of("argocd/helm")
    assert caught.value.reason is Reason.CREDENTIALS_REFUSED
    assert LOGIN[1] not in caught.value.message
    assert state is not None
    assert state.status == "Failed"


async def test_a_private_authority_is_believed_for_its_host_only(
    reader: SourceReading, tmp_path: Path
) -> None:
    (tmp_path / "ca").mkdir()
    (tmp_path / "tls").mkdir()
    authority = make_authority(tmp_path / "ca")
    async with ChartHost(tls=serving(authority, tmp_path / "tls")) as private:
        private.publish("web", "1.0.0")
        with pytest.raises(RepositoryError, match=r"argocd-tls-certs-cm, key 127\.0\.0\.1"):
            await reader.files(private.url, "*", "web")
        reader.trust.pem = authority.certificate_file.read_text()
        assert text_of(await reader.files(private.url, "*", "web"), "Chart.yaml")


async def test_a_login_goes_to_no_other_server(reader: SourceReading) -> None:
    seen: list[str] = []

    async def other(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.Response(body=packaged("web", "1.0.0"))

    async with answering(other) as elsewhere:

        async def answer(request: web.Request) -> web.Response:
            if request.path.endswith("index.yaml"):
                return web.Response(text=index_of("moved.tgz"))
            return web.Response(status=302, headers={"Location": f"{elsewhere}/web.tgz"})

        async with answering(answer) as url:
            reader.secret(url, username=LOGIN[0], password=LOGIN[1])
            assert text_of(await reader.files(url, "1.0.0", "web"), "Chart.yaml")
    assert seen == [""]


@pytest.mark.parametrize("consents", ["", "true"])
async def test_a_login_goes_to_archives_of_others_only_where_the_secret_says_so(
    reader: SourceReading, consents: str
) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("index.yaml"):
            return web.Response(text=index_of("../other-team/private.tgz"))
        if "Authorization" not in request.headers:
            return web.Response(status=401)
        return web.Response(body=packaged("web", "1.0.0"))

    async with answering(answer) as url:
        reader.secret(url, username=LOGIN[0], password=LOGIN[1], passCredentials=consents)
        if consents:
            assert text_of(await reader.files(url, "1.0.0", "web"), "Chart.yaml")
            return
        with pytest.raises(RepositoryError, match=r"not sent.*passCredentials") as caught:
            await reader.files(url, "1.0.0", "web")
        assert caught.value.reason is Reason.CREDENTIALS_REFUSED


@pytest.mark.parametrize("passes", [False, True])
async def test_a_login_goes_to_other_servers_of_the_index_only_where_the_source_says_so(
    reader: SourceReading, *, passes: bool
) -> None:
    seen: list[str] = []

    async def other(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        if request.path.endswith("web.tgz"):
            return web.Response(status=302, headers={"Location": f"{third}/moved"})
        return web.Response(body=packaged("web", "1.0.0"))

    async with answering(other) as third, answering(other) as elsewhere:

        async def answer(request: web.Request) -> web.Response:
            assert request.path.endswith("index.yaml")
            return web.Response(text=index_of(f"{elsewhere}/web.tgz"))

        async with answering(answer) as url:
            reader.secret(url, username=LOGIN[0], password=LOGIN[1])
            helm = HelmSource(pass_credentials=passes)
            access = reader.sources.access(Source(repo_url=url, chart="web", helm=helm), "shop")
            found = await reader.sources.resolve(access, "1.0.0")
            assert text_of(await reader.sources.tree(access, found), "Chart.yaml")
    assert [bool(one) for one in seen] == [passes, False]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"index": index_of("web.tgz", "0" * 64)}, "has the digest sha256:.*the index names 000"),
        ({"archive": packaged("web", "1.0.0")[:-9]}, "is cut off|is damaged"),
        ({"archive": packaged("other", "1.0.0")}, "beside the folder 'web'"),
        ({"archive": packaged("web", "1.0.0", {"../../x": "y"})}, "leads out of it"),
        ({"index": index_of("file:///etc/passwd")}, "names 'file:///etc/passwd' as the archive"),
        ({"index": index_of("http://u:p@127.0.0.1/web.tgz")}, "as the archive of version 1.0.0"),
        ({"index": index_of("oci://registry.example/web:1.0.0")}, "is in the registry"),
        ({"index": "<html>"}, "its index has no entries"),
        ({"archive": 302}, "more than 5 redirects"),
        ({"archive": 500}, "HTTP 500"),
        ({"index": 404}, "index.yaml was answered with HTTP 404"),
        ({"index": 429}, "asks to wait 3600 s"),
    ],
)
async def test_what_a_server_should_not_send_is_refused_with_its_reason(
    reader: SourceReading, answers: dict[str, Any], message: str
) -> None:
    async def answer(request: web.Request) -> web.Response:
        is_index = request.path.endswith("index.yaml")
        default = index_of("web.tgz") if is_index else packaged("web", "1.0.0")
        content = answers.get("index" if is_index else "archive", default)
        if isinstance(content, int):
            headers = {"Location": str(request.url), "Retry-After": "99999999"}
            return web.Response(status=content, headers=headers)
        return web.Response(body=content)

    async with answering(answer) as url:
        with pytest.raises(RepositoryError, match=message):
            await reader.files(url, "1.0.0", "web")


async def test_a_server_that_is_overloaded_is_left_alone(reader: SourceReading) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=429, headers={"Retry-After": "600"})

    async with answering(answer) as url:
        messages = set()
        for _ in range(3):
            with pytest.raises(RepositoryError) as caught:
                await reader.sources.fetch(reader.access(url, "web"))
            messages.add(caught.value.message)
    assert len(asked) == 1
    assert len(messages) == 1


async def test_an_index_ends_at_its_limit_however_long_it_goes_on(
    reader: SourceReading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.helm.index_cache.LARGEST_INDEX", 1 << 20)

    async def answer(request: web.Request) -> web.StreamResponse:
        endless = web.StreamResponse()
        await endless.prepare(request)
        while request.transport is not None:
            await endless.write(b"x" * 65536)
        return endless

    async with answering(answer) as url:
        with pytest.raises(RepositoryError, match="more than the limit of 1048576 bytes"):
            await reader.files(url, "1.0.0", "web")
