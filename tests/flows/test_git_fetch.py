"""Fetching from a real Git host over HTTP: what arrives, what is refused, and what stays behind."""

import asyncio
import os
import subprocess
import uuid
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import SecretCredentials
from agent.renderer.version_choice import SandboxVersions
from bus.identity import NO_REVISION, Revision
from bus.status import Reason
from handlers.ports import RepositoryError
from playground.githost import GitHost, HostedRepository, HostLogin
from sandbox.client.limits import SandboxLimits
from sandbox.client.pool import Sandbox
from tests.support import eventually

PASSWORD = "a-password-nobody-may-see"


@pytest.fixture
def repository(git_host: GitHost) -> HostedRepository:
    return git_host.create(f"shop-{uuid.uuid4().hex[:8]}")


@pytest.fixture
async def git(tmp_path: Path) -> AsyncIterator[Mirrors]:
    async with Mirrors(
        MirrorSettings(folder=tmp_path / "git"), SecretCredentials(tuple)
    ) as mirrors:
        yield mirrors


def secret_for(url: str, password: str) -> Secret:
    return Secret(
        namespace="argocd",
        name="repo-shop",
        labels={SECRET_TYPE: "repository"},
        data={"url": url, "username": "kim", "password": password},
    )


async def test_branch_tag_commit_and_head_resolve(
    git: Mirrors, repository: HostedRepository
) -> None:
    first = repository.commit({"a.yaml": b"1"})
    git_in(repository, "tag", "-m", "one", "v1", first)
    second = repository.commit({"a.yaml": b"2"})

    async def resolved(target: str) -> str:
        return await git.resolve(git.access(repository.url), target)

    assert await resolved("main") == second
    assert await resolved("") == await resolved("HEAD") == second
    assert await resolved("v1") == await resolved("refs/tags/v1") == first
    assert await resolved(first) == await resolved(first[:8]) == first


async def test_a_push_is_seen_by_the_next_fetch_only(
    git: Mirrors, repository: HostedRepository
) -> None:
    first = repository.commit({"a.yaml": b"1"})
    assert await git.resolve(git.access(repository.url), "main") == first
    second = repository.commit({"a.yaml": b"2"})
    assert await git.resolve(git.access(repository.url), "main") == first
    await git.fetch(git.access(repository.url))
    assert await git.resolve(git.access(repository.url), "main") == second


async def test_an_outdated_mirror_is_fetched_before_it_answers(
    git: Mirrors, repository: HostedRepository
) -> None:
    first = repository.commit({"a.yaml": b"1"})
    access = git.access(repository.url)
    assert await git.resolve(access, "main") == first
    second = repository.commit({"a.yaml": b"2"})
    git.outdate()
    assert await git.resolve(access, first) == first
    assert await git.resolve(access, "main") == second
    third = repository.commit({"a.yaml": b"3"})
    assert await git.resolve(access, "main") == second
    await git.fetch(access)
    assert await git.resolve(access, "main") == third


async def test_a_branch_that_is_newer_than_the_mirror_is_looked_for(
    git: Mirrors, repository: HostedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.git.mirrors._RECENT", 0.0)
    repository.commit({"a": b"1"})
    await git.fetch(git.access(repository.url))
    late = repository.commit({"a": b"2"}, branch="late")
    assert await git.resolve(git.access(repository.url), "late") == late


async def test_fetches_asked_for_at_once_share_one(
    git: Mirrors, repository: HostedRepository
) -> None:
    """A fetch makes two requests or three; the first asker's has begun, the others share one."""
    repository.commit({"a": b"1"})
    async with counting_proxy(repository.url) as (url, seen), asyncio.TaskGroup() as tasks:
        for _ in range(20):
            tasks.create_task(git.fetch(git.access(url)))
    assert 0 < seen.count("/info/refs") <= 2


async def test_a_damaged_mirror_is_made_again(tmp_path: Path, repository: HostedRepository) -> None:
    commit = repository.commit({"a": b"1"})
    settings = MirrorSettings(folder=tmp_path / "git")
    async with Mirrors(settings, SecretCredentials(tuple)) as git:
        await git.fetch(git.access(repository.url))
    (next((tmp_path / "git").glob("*.git")) / "HEAD").write_bytes(b"rubbish")
    async with Mirrors(settings, SecretCredentials(tuple)) as git:
        assert await git.resolve(git.access(repository.url), "main") == commit


async def test_housekeeping_keeps_everything_readable(
    git: Mirrors, repository: HostedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.git.mirror._TIDY_EVERY", 1)
    repository.commit({"a": b"1"})
    await git.fetch(git.access(repository.url))
    commit = repository.commit({"a": b"2"})
    await git.fetch(git.access(repository.url))
    tree = await git.tree(git.access(repository.url), Revision(commit))
    assert [entry.name for entry in tree.list("")] == ["a"]


async def test_another_protocol_is_not_spoken(git: Mirrors, tmp_path: Path) -> None:
    error = await refusal(git, "git://127.0.0.1/x/y.git")
    assert "over https, http and ssh only" in error.message
    for url in (f"file://{tmp_path}", "ext::sh -c touch"):
        with pytest.raises(RepositoryError) as caught:
            git.access(url)
        assert caught.value.reason is Reason.INVALID_SPEC


async def test_changed_paths_name_both_sides_of_a_rename(
    git: Mirrors, repository: HostedRepository
) -> None:
    before = repository.commit({"a/old.yaml": b"same", "b/x.yaml": b"x"})
    after = repository.commit({"a/old.yaml": None, "c/new.yaml": b"same"})
    await git.fetch(git.access(repository.url))
    changed = await git.changed_paths(git.access(repository.url), Revision(before), Revision(after))
    assert changed == frozenset({"a/old.yaml", "c/new.yaml"})


async def test_changed_paths_from_a_commit_nobody_knows_is_none(
    git: Mirrors, repository: HostedRepository
) -> None:
    after = repository.commit({"a": b"1"})
    await git.fetch(git.access(repository.url))
    unknown = Revision("0123456789" * 4)
    assert await git.changed_paths(git.access(repository.url), unknown, Revision(after)) is None
    assert await git.changed_paths(git.access(repository.url), NO_REVISION, Revision(after)) is None


async def test_a_forced_push_moves_the_branch(git: Mirrors, repository: HostedRepository) -> None:
    first = repository.commit({"a": b"1"})
    second = repository.commit({"a": b"2"})
    await git.fetch(git.access(repository.url))
    git_in(repository, "update-ref", "refs/heads/main", first)
    await git.fetch(git.access(repository.url))
    assert await git.resolve(git.access(repository.url), "main") == first
    changed = await git.changed_paths(git.access(repository.url), Revision(second), Revision(first))
    assert changed == frozenset({"a"})


async def test_a_moved_tag_is_followed(git: Mirrors, repository: HostedRepository) -> None:
    first = repository.commit({"a": b"1"})
    git_in(repository, "tag", "stable", first)
    assert await git.resolve(git.access(repository.url), "stable") == first
    second = repository.commit({"a": b"2"})
    git_in(repository, "tag", "-f", "stable", second)
    await git.fetch(git.access(repository.url))
    assert await git.resolve(git.access(repository.url), "stable") == second


async def test_a_deleted_branch_is_gone_and_its_name_may_become_a_folder(
    git: Mirrors, repository: HostedRepository
) -> None:
    repository.commit({"a": b"1"})
    repository.commit({"a": b"2"}, branch="feature")
    await git.fetch(git.access(repository.url))
    git_in(repository, "branch", "-D", "feature")
    moved = repository.commit({"a": b"3"}, branch="feature/one")
    await git.fetch(git.access(repository.url))
    assert await git.resolve(git.access(repository.url), "feature/one") == moved
    with pytest.raises(RepositoryError) as caught:
        await git.resolve(git.access(repository.url), "feature")
    assert caught.value.reason is Reason.REVISION_NOT_FOUND
    assert "feature/one" in caught.value.message


async def test_an_empty_repository_says_so_and_fills_later(
    git: Mirrors, repository: HostedRepository
) -> None:
    await git.fetch(git.access(repository.url))
    with pytest.raises(RepositoryError, match="the repository is empty"):
        await git.resolve(git.access(repository.url), "HEAD")
    first = repository.commit({"a": b"1"})
    await git.fetch(git.access(repository.url))
    assert await git.resolve(git.access(repository.url), "HEAD") == first


async def test_a_commit_outside_every_branch_is_asked_for(
    git: Mirrors, repository: HostedRepository
) -> None:
    repository.commit({"a": b"1"})
    lost = repository.commit({"a": b"2"}, branch="gone")
    git_in(repository, "branch", "-D", "gone")
    git_in(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    assert await git.resolve(git.access(repository.url), lost) == lost
    tree = await git.tree(git.access(repository.url), Revision(lost))
    entry = tree.entry("a")
    assert entry is not None
    assert tree.read(entry.oid) == b"2"


async def test_a_range_chooses_the_highest_tag_and_a_branch_only_where_no_tag_matches(
    tmp_path: Path, repository: HostedRepository, sandbox_binary: Path
) -> None:
    commits = [repository.commit({"a": text.encode()}) for text in "123"]
    for tag, commit in zip(("v1.2.0", "1.10.0", "2.0.0-rc.1"), commits, strict=True):
        git_in(repository, "tag", "-m", tag, tag, commit)
    branch = repository.commit({"a": b"4"}, branch="3.x")
    settings = MirrorSettings(folder=tmp_path / "git")
    async with (
        Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox,
        Mirrors(settings, SecretCredentials(tuple), versions=SandboxVersions(sandbox)) as git,
    ):

        async def resolved(target: str) -> str:
            return await git.resolve(git.access(repository.url), target)

        assert await resolved("^1.2") == await resolved("*") == commits[1]
        assert await resolved("~v1.2") == commits[0]
        assert await resolved(">=2-0") == commits[2]
        assert await resolved("3.x") == branch
        with pytest.raises(RepositoryError, match=r"no tag in the range.* '>=9'; there are .*3\.x"):
            await resolved(">=9")
        with pytest.raises(RepositoryError, match=r"no branch, tag or commit '1\.2'"):
            await resolved("1.2")
        for tag, commit in zip(("web-1.4.0", "web-v1.5.0", "api-1.9.0"), commits, strict=True):
            git_in(repository, "tag", tag, commit)
        await git.fetch(git.access(repository.url))
        assert await resolved("web-:^1.2") == commits[1]
        assert await git.tag_named(git.access(repository.url), "web-:~1.4") == "refs/tags/web-1.4.0"
        assert await resolved("web-:3.x") == branch
        with pytest.raises(RepositoryError, match=r"no tag of the prefix 'api-' in .* '\^2'"):
            await resolved("api-:^2")


async def test_a_host_that_is_down_is_named_and_recovers(
    git: Mirrors, own_git_host: GitHost
) -> None:
    repository = own_git_host.create("shop")
    commit = repository.commit({"a": b"1"})
    await own_git_host.down()
    messages = [await refusal(git, repository.url) for _ in range(2)]
    assert messages[0].reason is Reason.REPOSITORY_UNREACHABLE
    assert repository.url in messages[0].message
    assert messages[0].message == messages[1].message
    await own_git_host.up()
    assert await git.resolve(git.access(repository.url), "main") == commit


async def test_a_repository_that_is_gone_is_named(
    git: Mirrors, repository: HostedRepository
) -> None:
    error = await refusal(git, repository.url.replace("shop", "absent"))
    assert error.reason is Reason.REPOSITORY_UNREACHABLE
    assert "Check the URL" in error.message


@pytest.mark.parametrize("written", ["secret", "url"])
async def test_a_login_opens_the_repository(
    tmp_path: Path, repository: HostedRepository, written: str
) -> None:
    commit = repository.commit({"a": b"1"})
    repository.login = HostLogin(user="kim", password=PASSWORD)
    secrets = (secret_for(repository.url, PASSWORD),) if written == "secret" else ()
    url = (
        repository.url.replace("://", f"://kim:{PASSWORD}@") if written == "url" else repository.url
    )
    settings = MirrorSettings(folder=tmp_path / "git")
    async with Mirrors(settings, SecretCredentials(lambda: secrets)) as git:
        assert await git.resolve(git.access(url), "main") == commit
    assert PASSWORD.encode() not in everything_below(tmp_path)


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_mirror_is_served_to_the_login_that_fetched_it_only(
    tmp_path: Path,
    repository: HostedRepository,
    restarted: bool,  # noqa: FBT001  a table
) -> None:
    """A new password is no reason to fetch everything anew, and a lost one no open door."""
    commit = Revision(repository.commit({"a": b"1"}))
    repository.login = HostLogin(user="kim", password=PASSWORD)
    secrets = [secret_for(repository.url, PASSWORD)]
    settings = MirrorSettings(folder=tmp_path / "git")
    credentials = SecretCredentials(lambda: secrets)
    async with AsyncExitStack() as stack:
        git = await stack.enter_async_context(Mirrors(settings, credentials))
        access = git.access(repository.url)
        assert (await git.tree(access, commit)).entry("a")
        if restarted:
            await stack.aclose()
            git = await stack.enter_async_context(Mirrors(settings, credentials))
        secrets.clear()
        for reading in (git.resolve(access, "main"), git.resolve(access, commit)):
            assert (await refused(reading)).reason is Reason.CREDENTIALS_REFUSED
        assert (await refused(git.tree(access, commit))).reason is Reason.CREDENTIALS_REFUSED
        secrets.append(secret_for(repository.url, "another"))
        assert await git.commit(access, commit) is None
        assert await git.changed_paths(access, commit, commit) is None
        repository.login = HostLogin(user="kim", password="another")
        assert (await git.tree(access, commit)).entry("a")
        assert len(list((tmp_path / "git").glob("*.git"))) == 1


async def test_a_mirror_is_served_after_a_restart_while_its_host_is_away(
    tmp_path: Path, own_git_host: GitHost
) -> None:
    repository = own_git_host.create("shop")
    commit = Revision(repository.commit({"a": b"1"}))
    settings = MirrorSettings(folder=tmp_path / "mirrors")
    async with Mirrors(settings, SecretCredentials(tuple)) as git:
        await git.tree(git.access(repository.url), commit)
    await own_git_host.down()
    async with Mirrors(settings, SecretCredentials(tuple)) as git:
        assert (await git.tree(git.access(repository.url), commit)).entry("a")


async def test_a_wrong_password_names_the_secret_and_hides_it(
    tmp_path: Path, repository: HostedRepository
) -> None:
    repository.commit({"a": b"1"})
    repository.login = HostLogin(user="kim", password="another")
    secrets = (secret_for(repository.url, PASSWORD),)
    settings = MirrorSettings(folder=tmp_path / "git")
    async with Mirrors(settings, SecretCredentials(lambda: secrets)) as git:
        error = await refusal(git, repository.url)
    assert error.reason is Reason.CREDENTIALS_REFUSED
    assert "argocd/repo-shop" in error.message
    assert PASSWORD not in error.message


async def test_no_login_at_all_is_refused_and_says_that_no_secret_fits(
    git: Mirrors, repository: HostedRepository
) -> None:
    repository.login = HostLogin(user="kim", password=PASSWORD)
    error = await refusal(git, repository.url)
    assert error.reason is Reason.CREDENTIALS_REFUSED
    assert "no Secret fits" in error.message


async def test_the_deadline_ends_a_hanging_fetch_and_leaves_nothing(tmp_path: Path) -> None:
    async with silent_server() as url:
        settings = MirrorSettings(folder=tmp_path / "git", fetch_seconds=0.5)
        async with Mirrors(settings, SecretCredentials(tuple)) as git:
            error = await refusal(git, url)
        assert error.reason is Reason.REPOSITORY_UNREACHABLE
        assert "0.5 s" in error.message
        await eventually(lambda: not processes_with(url))
    assert not leftovers(tmp_path)


async def test_a_cancelled_fetch_leaves_nothing_and_the_next_one_works(
    git: Mirrors, repository: HostedRepository, tmp_path: Path
) -> None:
    commit = repository.commit({"a": b"1"})
    async with silent_server() as url:
        async with asyncio.TaskGroup() as tasks:
            hanging = tasks.create_task(git.fetch(git.access(url)))
            await eventually(lambda: processes_with(url))
            hanging.cancel()
        await eventually(lambda: not processes_with(url))
    assert not leftovers(tmp_path)
    assert await git.resolve(git.access(repository.url), "main") == commit


async def test_what_a_killed_fetch_left_is_swept_when_the_mirror_opens(
    tmp_path: Path, repository: HostedRepository
) -> None:
    repository.commit({"a": b"1"})
    settings = MirrorSettings(folder=tmp_path / "git")
    async with Mirrors(settings, SecretCredentials(tuple)) as git:
        await git.fetch(git.access(repository.url))
    folder = next((tmp_path / "git").glob("*.git"))
    (folder / "refs/heads/main.lock").touch()
    (folder / "objects/pack/tmp_pack_x").touch()
    second = repository.commit({"a": b"2"})
    async with Mirrors(settings, SecretCredentials(tuple)) as git:
        await git.fetch(git.access(repository.url))
        assert await git.resolve(git.access(repository.url), "main") == second
    assert not leftovers(tmp_path)


async def refusal(git: Mirrors, url: str) -> RepositoryError:
    with pytest.raises(RepositoryError) as caught:
        await git.fetch(git.access(url))
    return caught.value


async def refused(reading: Awaitable[object]) -> RepositoryError:
    with pytest.raises(RepositoryError) as caught:
        await reading
    return caught.value


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """Accepts connections and never answers."""

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1024):
            pass
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{uuid.uuid4().hex}.git"
    finally:
        server.close()


@asynccontextmanager
async def counting_proxy(url: str) -> AsyncIterator[tuple[str, list[str]]]:
    """Passes requests on to the host of `url`, and keeps their paths."""
    seen: list[str] = []
    async with aiohttp.ClientSession() as session:

        async def pass_on(request: web.Request) -> web.Response:
            seen.append(request.path.partition(".git")[2])
            body = await request.read()
            target = host + request.path_qs
            headers = {"Content-Type": request.content_type} if body else {}
            async with session.request(request.method, target, data=body, headers=headers) as got:
                answer = await got.read()
                return web.Response(
                    status=got.status, body=answer, headers={"Content-Type": got.content_type}
                )

        parts = urlsplit(url)
        host = f"{parts.scheme}://{parts.netloc}"
        application = web.Application()
        application.router.add_route("*", "/{path:.+}", pass_on)
        server = TestServer(application)
        async with server:
            yield str(server.make_url(parts.path)), seen


def processes_with(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in line and folder.name != str(os.getpid()):
            found.append(folder.name)
    return found


def everything_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def leftovers(folder: Path) -> list[Path]:
    patterns = ("*.lock", "tmp_*")
    return [path for pattern in patterns for path in (folder / "git").rglob(pattern)]


def git_in(repository: HostedRepository, *arguments: str) -> None:
    who = ("-c", "user.name=kim", "-c", "user.email=kim@example.org")
    subprocess.run(
        ["git", *who, *arguments], cwd=repository.folder, check=True, capture_output=True
    )
