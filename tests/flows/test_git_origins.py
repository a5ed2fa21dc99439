"""Whose content a mirror holds and who gets a credential, with real servers that try for more.

The attacks of the security review: a repository whose URL differs in case only (C1), a prefix that
is the beginning of another host or folder (H1), a server that redirects (H2), a project's own
Secret that others use (M11).
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import SecretCredentials
from bus.identity import RepositoryKey, Revision
from bus.status import Reason
from handlers.ports import RepositoryError
from playground.githost import GitHost, HostLogin

PASSWORD = "a-password-nobody-may-see"
_PASSED_ON = {"Content-Type", "Content-Encoding", "Git-Protocol"}


@dataclass(slots=True)
class HeadRecorder:
    """A server that keeps the heads of what it was asked and answers with `status`."""

    status: int = 401
    location: str = ""
    body: bytes = b""
    port: int = 0
    asked: list[web.Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def logins(self) -> list[str]:
        return [
            one.headers["Authorization"] for one in self.asked if "Authorization" in one.headers
        ]

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        headers = {"Location": self.location + request.path_qs} if self.location else {}
        return web.Response(status=self.status, headers=headers, body=self.body)


@asynccontextmanager
async def listening(listener: HeadRecorder, port: int = 0) -> AsyncIterator[HeadRecorder]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", listener.answer)
    async with TestServer(application, port=port or None) as server:
        listener.port = int(server.port or 0)
        yield listener


@asynccontextmanager
async def wanting_suffix(behind: str) -> AsyncIterator[HeadRecorder]:
    """A server that redirects what has no `.git` and passes the rest on to a real Git host."""
    listener = HeadRecorder()

    async def answer(request: web.Request) -> web.Response:
        listener.asked.append(request)
        head, *rest = request.path.removeprefix("/").split("/")
        if not head.endswith(".git"):
            there = "/".join((f"/{head}.git", *rest))
            return web.Response(status=301, headers={"Location": f"{there}?{request.query_string}"})
        kept = {name: value for name, value in request.headers.items() if name in _PASSED_ON}
        async with (
            ClientSession() as session,
            session.request(
                request.method, behind + request.path_qs, data=await request.read(), headers=kept
            ) as answer,
        ):
            kind = {"Content-Type": answer.headers["Content-Type"]}
            return web.Response(status=answer.status, body=await answer.read(), headers=kind)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        listener.port = int(server.port or 0)
        yield listener


@asynccontextmanager
async def mirrors(folder: Path, *secrets: Secret) -> AsyncIterator[Mirrors]:
    settings = MirrorSettings(folder=folder / "git")
    async with Mirrors(settings, SecretCredentials(lambda: secrets)) as opened:
        yield opened


def secret(kind: str, url: str, **data: str) -> Secret:
    login = {"username": "svc", "password": PASSWORD}
    whole = {"url": url, **login, **data}
    return Secret(namespace="argocd", name="org", labels={SECRET_TYPE: kind}, data=whole)


@pytest.fixture
def name() -> str:
    return uuid.uuid4().hex[:8]


async def test_repositories_whose_urls_differ_in_case_share_nothing(
    tmp_path: Path, git_host: GitHost, name: str
) -> None:
    victim, attacker = git_host.create(f"team-{name}"), git_host.create(f"Team-{name}")
    mine, theirs = victim.commit({"a": b"victim"}), attacker.commit({"a": b"attacker"})
    async with mirrors(tmp_path) as git:
        for repository in (attacker, victim, attacker):
            await git.fetch(git.access(repository.url))
        assert await git.resolve(git.access(victim.url), "main") == mine
        assert await git.resolve(git.access(attacker.url), "main") == theirs
    assert RepositoryKey.of(victim.url).token != RepositoryKey.of(attacker.url).token


async def test_a_mirror_that_another_version_left_is_not_believed(
    tmp_path: Path, git_host: GitHost, name: str
) -> None:
    """It may hold what another repository of the same folded URL has."""
    repository = git_host.create(f"team-{name}")
    commit = repository.commit({"a": b"victim"})
    async with mirrors(tmp_path) as git:
        await git.fetch(git.access(repository.url))
    (folder,) = (tmp_path / "git").glob("*.git")
    poisoned = pygit2.Repository(str(folder))
    del poisoned.config["gitops.mirror-of"]
    poisoned.references["refs/heads/main"].rename("refs/heads/other")
    async with mirrors(tmp_path) as git:
        assert not folder.exists()
        assert await git.resolve(git.access(repository.url), "main") == commit


@pytest.mark.parametrize("cut", [1, 2], ids=["one digit", "two digits"])
async def test_a_prefix_of_a_port_is_no_prefix_of_the_address(tmp_path: Path, cut: int) -> None:
    async with listening(HeadRecorder()) as evil:
        prefix = secret("repo-creds", f"{evil.url[:-cut]}/")
        async with mirrors(tmp_path, prefix) as git:
            await refused(git, f"{evil.url}/x/y")
    assert evil.asked
    assert not evil.logins


async def test_a_prefix_of_a_folder_s_name_is_no_prefix_of_its_path(tmp_path: Path) -> None:
    async with (
        listening(HeadRecorder()) as host,
        mirrors(tmp_path, secret("repo-creds", f"{host.url}/acme")) as git,
    ):
        await refused(git, f"{host.url}/acme-evil/x")
        assert not host.logins
        await refused(git, f"{host.url}/acme/x")
        assert host.logins


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("kind", ["repository", "repo-creds"])
async def test_a_credential_does_not_follow_a_redirect(
    tmp_path: Path, git_host: GitHost, name: str, kind: str, status: int
) -> None:
    """The other host answers as Git wants it, so that Git would go on to ask it for the pack."""
    target = git_host.create(f"team-{name}")
    target.commit({"a": b"1"})
    async with (
        listening(HeadRecorder(status=status, location=target.url.rpartition("/")[0])) as good,
        mirrors(tmp_path, secret(kind, f"{good.url}/team-{name}.git")) as git,
    ):
        error = await refused(git, f"{good.url}/team-{name}.git")
    assert len(good.logins) == len(good.asked) == 1
    assert "write that address as URL" in error.message
    assert PASSWORD not in error.message


async def test_a_redirect_reaches_nobody_else(tmp_path: Path) -> None:
    async with (
        listening(HeadRecorder()) as evil,
        listening(HeadRecorder(status=302, location=evil.url)) as good,
        mirrors(tmp_path, secret("repository", f"{good.url}/a.git")) as git,
    ):
        await refused(git, f"{good.url}/a.git")
    assert good.logins
    assert not evil.asked


async def test_a_host_that_wants_git_at_the_end_is_asked_so_with_the_credential(
    tmp_path: Path, git_host: GitHost, name: str
) -> None:
    """GitLab answers `/team/app` with 301 to `/team/app.git`; later fetches go there at once."""
    repository = git_host.create(f"team-{name}")
    commit = repository.commit({"a": b"1"})
    async with (
        wanting_suffix(repository.url.rpartition("/")[0]) as host,
        mirrors(tmp_path, secret("repository", f"{host.url}/team-{name}")) as git,
    ):
        access = git.access(f"{host.url}/team-{name}")
        await git.fetch(access)
        assert await git.resolve(access, "main") == commit
        redirected = [one for one in host.asked if ".git" not in one.path]
        await git.fetch(access)
        assert [one for one in host.asked if ".git" not in one.path] == redirected
    assert len(redirected) == 1
    assert len(host.logins) == len(host.asked)


async def test_an_alternate_that_a_server_names_is_not_asked(tmp_path: Path) -> None:
    """The old protocol of plain files lets a server say where else its objects are."""
    async with (
        listening(HeadRecorder(status=404)) as evil,
        plain_files(f"{evil.url}/objects\n") as (url, asked),
        mirrors(tmp_path, secret("repository", url)) as git,
    ):
        await refused(git, url)
    assert any(path.endswith("http-alternates") for path in asked)
    assert not evil.asked


async def test_a_secret_of_a_project_opens_the_repository_for_that_project_only(
    tmp_path: Path, git_host: GitHost, name: str
) -> None:
    repository = git_host.create(f"team-{name}", login=HostLogin(user="svc", password=PASSWORD))
    commit = repository.commit({"a": b"1"})
    async with mirrors(tmp_path, secret("repository", repository.url, project="shop")) as git:
        ours, theirs = (git.access(repository.url, it) for it in ("shop", "other"))
        assert await git.resolve(ours, "main") == commit
        for ask in (git.resolve(theirs, "main"), git.tree(theirs, Revision(commit))):
            with pytest.raises(RepositoryError) as caught:
                await ask
            assert caught.value.reason is Reason.CREDENTIALS_REFUSED
        assert await git.commit(theirs, Revision(commit)) is None


async def test_projects_without_a_secret_of_their_own_share_a_mirror(
    tmp_path: Path, git_host: GitHost, name: str
) -> None:
    repository = git_host.create(f"team-{name}")
    commit = repository.commit({"a": b"1"})
    async with mirrors(tmp_path, secret("repository", repository.url)) as git:
        ours, theirs = (git.access(repository.url, it) for it in ("shop", "other"))
        await git.fetch(ours)
        assert ours == theirs
        assert (await git.commit(theirs, Revision(commit))) is not None


async def test_a_login_in_a_url_opens_the_repository_for_who_wrote_it(
    tmp_path: Path, git_host: GitHost, name: str
) -> None:
    repository = git_host.create(f"team-{name}", login=HostLogin(user="svc", password=PASSWORD))
    commit = repository.commit({"a": b"1"})
    written = repository.url.replace("://", f"://svc:{PASSWORD}@")
    async with mirrors(tmp_path) as git:
        assert await git.resolve(git.access(written), "main") == commit
        with pytest.raises(RepositoryError) as caught:
            await git.resolve(git.access(repository.url), "main")
        assert caught.value.reason is Reason.CREDENTIALS_REFUSED
    assert not [one for one in (tmp_path / "git").iterdir() if PASSWORD in one.name]


async def refused(git: Mirrors, url: str) -> RepositoryError:
    with pytest.raises(RepositoryError) as caught:
        await git.fetch(git.access(url))
    return caught.value


@asynccontextmanager
async def plain_files(alternates: str) -> AsyncIterator[tuple[str, list[str]]]:
    """A repository as plain files: a branch whose commit it has not, and alternates for it."""
    asked: list[str] = []
    files = {
        "info/refs": f"{'a' * 40}\trefs/heads/main\n",
        "HEAD": "ref: refs/heads/main\n",
        "objects/info/http-alternates": alternates,
    }

    async def answer(request: web.Request) -> web.Response:
        path = request.path.partition(".git/")[2]
        asked.append(path)
        text = files.get(path)
        return web.Response(status=404) if text is None else web.Response(text=text)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        yield f"http://127.0.0.1:{server.port}/old.git", asked
