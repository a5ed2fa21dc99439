import asyncio
import hashlib
import hmac
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from playground.githost import GitHost
from playground.gitrepository import HostedRepository, HostLogin
from playground.pushes import PushWebhook
from tests.support import eventually

pytestmark = pytest.mark.usefixtures("own_servers")

HERMETIC = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.test",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.test",
}


class DeliveryReceiver:
    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.requests.append((dict(request.headers), await request.read()))
        return web.Response(status=202)

    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = orjson.loads(self.requests[0][1])
        return payload


@pytest.fixture
async def receiver() -> AsyncIterator[DeliveryReceiver]:
    receiver = DeliveryReceiver()
    application = web.Application()
    application.router.add_post("/hook", receiver.take)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield receiver
    await runner.cleanup()


@pytest.fixture
def repository(git_host: GitHost, request: pytest.FixtureRequest) -> HostedRepository:
    return git_host.create(f"acme/{request.node.name}")


async def git(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        ["git", *command],
        cwd=cwd,
        env={**os.environ, **HERMETIC},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


async def clone_edit_push(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    cloned = await git("clone", "--quiet", url, "work", cwd=folder)
    if cloned.returncode != 0:
        return cloned
    work = folder / "work"
    (work / "new.yaml").write_text("a: 1\n")
    await git("add", ".", cwd=work)
    await git("commit", "--quiet", "--message", "add new.yaml", cwd=work)
    return await git("push", "--quiet", "origin", "HEAD:main", cwd=work)


async def test_a_clone_sees_what_was_committed(
    repository: HostedRepository, tmp_path: Path
) -> None:
    made = repository.commit({"apps/web.yaml": "kind: X\n", "gone.yaml": "x"})
    repository.commit({"gone.yaml": None})
    await git("clone", "--quiet", repository.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    log = await git("rev-list", "HEAD", cwd=work)
    assert (work / "apps/web.yaml").read_text() == "kind: X\n"
    assert not (work / "gone.yaml").exists()
    assert made in log.stdout


async def test_a_push_over_http_arrives(repository: HostedRepository, tmp_path: Path) -> None:
    repository.commit({"a": "1"})
    pushed = await clone_edit_push(repository.url, tmp_path)
    assert pushed.returncode == 0, pushed.stderr
    assert repository.read("new.yaml") == b"a: 1\n"


@pytest.mark.parametrize("password", ["wrong", ""], ids=["wrong password", "no login"])
async def test_a_repository_with_a_login_refuses_others(
    git_host: GitHost, tmp_path: Path, password: str
) -> None:
    repository = git_host.create(
        f"acme/{tmp_path.name}", login=HostLogin(user="ann", password="right")
    )
    repository.commit({"a": "1"})
    login = f"ann:{password}@" if password else ""
    url = repository.url.replace("http://", f"http://{login}")
    refused = await git("ls-remote", url, cwd=tmp_path)
    assert refused.returncode != 0
    assert repository.read("new.yaml") is None


async def test_a_login_may_push(git_host: GitHost, tmp_path: Path) -> None:
    repository = git_host.create("acme/private", login=HostLogin(user="ann", password="right"))
    repository.commit({"a": "1"})
    url = repository.url.replace("http://", "http://ann:right@")
    pushed = await clone_edit_push(url, tmp_path)
    assert pushed.returncode == 0, pushed.stderr
    assert repository.read("new.yaml") == b"a: 1\n"


async def test_a_pushs_webhook_is_signed_and_tells_the_paths(
    repository: HostedRepository, receiver: DeliveryReceiver, tmp_path: Path
) -> None:
    before = repository.commit({"a": "1"})
    repository.webhook = PushWebhook(url=receiver.url, secret="s3cret")
    await clone_edit_push(repository.url, tmp_path)
    await eventually(lambda: receiver.requests)

    headers, body = receiver.requests[0]
    digest = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["X-Hub-Signature-256"] == f"sha256={digest}"
    assert headers["X-GitHub-Event"] == "push"
    assert headers["X-GitHub-Delivery"]
    payload = receiver.payload()
    assert (payload["ref"], payload["before"]) == ("refs/heads/main", before)
    assert payload["after"] == repository.head()
    assert payload["repository"]["clone_url"] == repository.url
    assert [commit["added"] for commit in payload["commits"]] == [["new.yaml"]]


async def test_a_commit_of_the_helper_is_announced_with_what_happened_to_each_path(
    repository: HostedRepository, receiver: DeliveryReceiver
) -> None:
    repository.commit({"changed": "1", "gone": "1"})
    repository.webhook = PushWebhook(url=receiver.url, secret="s3cret")
    repository.commit({"changed": "2", "gone": None, "new": "1"})
    await eventually(lambda: repository.deliveries)
    commit = receiver.payload()["commits"][0]
    assert (commit["added"], commit["modified"], commit["removed"]) == (
        ["new"],
        ["changed"],
        ["gone"],
    )
    assert repository.deliveries[0].status == 202


async def test_a_redelivery_has_the_same_id(
    repository: HostedRepository, receiver: DeliveryReceiver
) -> None:
    repository.webhook = PushWebhook(url=receiver.url, secret="s3cret")
    repository.commit({"a": "1"})
    await eventually(lambda: repository.deliveries)
    repository.redeliver(repository.deliveries[0])
    await eventually(lambda: len(receiver.requests) == 2)
    first, second = (headers["X-GitHub-Delivery"] for headers, _ in receiver.requests)
    assert first == second


async def test_a_forced_push_says_so(
    repository: HostedRepository, receiver: DeliveryReceiver, tmp_path: Path
) -> None:
    repository.commit({"a": "1"})
    repository.commit({"a": "2"})
    repository.webhook = PushWebhook(url=receiver.url, secret="s3cret")
    await git("clone", "--quiet", repository.url, "work", cwd=tmp_path)
    await git("push", "--force", "origin", "HEAD~1:main", cwd=tmp_path / "work")
    await eventually(lambda: receiver.requests)
    assert receiver.payload()["forced"] is True


async def test_a_webhook_that_nobody_takes_is_kept_as_failed(repository: HostedRepository) -> None:
    repository.webhook = PushWebhook(url="http://127.0.0.1:1/hook", secret="s3cret")
    repository.commit({"a": "1"})
    await eventually(lambda: repository.deliveries)
    assert repository.deliveries[0].status is None
    assert "s3cret" not in repository.deliveries[0].error


async def test_the_host_goes_down_and_comes_back_on_its_port(
    git_host: GitHost, own_git_host: GitHost
) -> None:
    repository = own_git_host.create("acme/web")
    made = repository.commit({"a": "1"})
    await own_git_host.down()
    with pytest.raises(aiohttp.ClientConnectorError):
        await advertised(repository.url)
    await own_git_host.up()
    assert made in await advertised(repository.url)


async def test_a_removed_repository_is_not_found(git_host: GitHost) -> None:
    repository = git_host.create("acme/removed")
    git_host.remove("acme/removed")
    assert "no such repository" in await advertised(repository.url)


async def advertised(url: str) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/info/refs?service=git-upload-pack") as answer,
    ):
        return await answer.text()
