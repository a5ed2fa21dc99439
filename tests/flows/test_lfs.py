"""Objects of Git LFS in place of their pointers, where the Secret of the repository says so.

Git host, mirrors and the sandbox are real; the handlers are called by hand.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.git.credentials import SECRET_TYPE, Secret
from bus.events import ManifestsRendered, RenderFailed
from bus.identity import AppKey
from bus.route import Retry
from bus.status import Reason
from handlers.manifest.manifest_assembly import objects_of
from playground.githost import GitHost, HostedRepository, HostLogin
from playground.lfs import TOKEN, pointer
from tests.flows.test_git_handlers import GitHandlers, config_map, handlers

__all__ = ["handlers"]

LOGIN = HostLogin(user="kim", password="c4nary")
MANIFEST = config_map("large", tag="x" * 2000)


@pytest.fixture
def repository(git_host: GitHost) -> HostedRepository:
    return git_host.create(f"lfs-{uuid.uuid4().hex[:8]}", login=LOGIN)


def secret(repository: HostedRepository, **fields: str) -> Secret:
    login = {"username": LOGIN.user, "password": LOGIN.password}
    return Secret(
        namespace="argocd",
        name="shop",
        labels={SECRET_TYPE: "repository"},
        data={"url": repository.url, **login, **fields},
    )


def follow(
    handlers: GitHandlers, repository: HostedRepository, files: Mapping[str, bytes], **fields: str
) -> AppKey:
    repository.commit({**files})
    handlers.secrets.append(secret(repository, **fields))
    return handlers.cluster.add("web", repository.url, {"path": "web"})


async def names(handlers: GitHandlers, app: AppKey) -> set[str]:
    found = await handlers.render(app, hard=True)
    assert isinstance(found, ManifestsRendered), found
    content = await handlers.artifacts.get(found.digest)
    assert content is not None
    return {one["metadata"]["name"] for one in objects_of(content)}


async def refusal(handlers: GitHandlers, app: AppKey) -> RenderFailed:
    found = await handlers.render(app, hard=True)
    assert isinstance(found, RenderFailed), found
    return found


async def test_a_pointer_is_read_as_its_object_and_fetched_once(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    files = {"web/a.yaml": config_map("small"), "web/b.yaml": repository.lfs.put(MANIFEST)}
    app = follow(handlers, repository, files, enableLfs="true")
    assert await names(handlers, app) == {"small", "large"}
    repository.lfs.objects.clear()
    assert await names(handlers, app) == {"small", "large"}


async def test_without_the_field_a_pointer_stays_one_and_is_no_manifest(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    app = follow(handlers, repository, {"web/b.yaml": repository.lfs.put(MANIFEST)})
    fact = await refusal(handlers, app)
    assert "web/b.yaml" in fact.message
    assert "enableLfs" in fact.message


async def test_an_object_that_is_not_there_is_said_with_what_to_do(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    files = {"web/b.yaml": pointer("5" * 64, 12)}
    app = follow(handlers, repository, files, enableLfs="true")
    fact = await refusal(handlers, app)
    assert fact.reason is Reason.FILE_NOT_FOUND
    assert "object " + "5" * 64 in fact.message
    assert "git lfs push --all" in fact.message


async def test_what_is_not_the_object_is_not_read(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    files = {"web/b.yaml": repository.lfs.put(MANIFEST)}
    app = follow(handlers, repository, files, enableLfs="true")
    (digest,) = repository.lfs.objects
    repository.lfs.objects[digest] = MANIFEST.replace(b"large", b"lurge")
    assert "came with the digest" in (await refusal(handlers, app)).message
    repository.lfs.objects[digest] = MANIFEST + b"# more"
    assert f"limit of {len(MANIFEST)} bytes" in (await refusal(handlers, app)).message
    repository.lfs.objects[digest] = MANIFEST
    assert await names(handlers, app) == {"large"}


async def test_an_object_has_a_limit_of_size_before_it_is_asked_for(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    files = {"web/b.yaml": pointer("5" * 64, 11 * 1024 * 1024)}
    app = follow(handlers, repository, files, enableLfs="true")
    assert (await refusal(handlers, app)).reason is Reason.OUTPUT_TOO_LARGE


async def test_the_size_that_counts_is_that_of_the_object(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    files = {"web/b.yaml": repository.lfs.put(MANIFEST), "web/c.yaml": config_map("small")}
    follow(handlers, repository, files, enableLfs="true")
    access = handlers.git.access(repository.url)
    tree = await handlers.git.tree(access, await handlers.git.resolve(access, "main"))
    sizes = [len(MANIFEST), len(files["web/c.yaml"])]
    assert [one.size for one in tree.list("web")] == sizes
    found = tree.entry("web/b.yaml")
    assert found is not None
    assert found.size == len(MANIFEST)


async def test_the_login_stays_with_the_host_and_a_token_with_its_server(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    seen: dict[str, Mapping[str, str]] = {}

    async def serve(request: web.Request) -> web.Response:
        seen[request.path.split("/")[1]] = dict(request.headers)
        if request.path.startswith("/first"):
            place = str(second.make_url(request.path.replace("/first/", "/second/")))
            return web.Response(status=302, headers={"Location": place})
        return web.Response(body=MANIFEST)

    application = web.Application()
    application.router.add_get("/{path:.+}", serve)
    other = web.Application()
    other.router.add_get("/{path:.+}", serve)
    async with TestServer(application) as first, TestServer(other) as second:
        repository.lfs.elsewhere = f"{first.make_url('/first/')}"
        files = {"web/b.yaml": repository.lfs.put(MANIFEST)}
        app = follow(handlers, repository, files, enableLfs="true")
        assert await names(handlers, app) == {"large"}
    assert seen.keys() == {"first", "second"}
    assert not any("Authorization" in headers for headers in seen.values())
    assert seen["first"]["X-Object-Token"] == TOKEN["X-Object-Token"]
    assert "X-Object-Token" not in seen["second"]


async def test_a_host_without_lfs_is_said_and_tried_again(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    files = {"web/b.yaml": repository.lfs.put(MANIFEST)}
    app = follow(handlers, repository, files, enableLfs="true")
    repository.lfs.elsewhere = "file:///etc/"
    with pytest.raises(Retry):
        await handlers.render(app)
    assert "leads to 'file'" in handlers.cluster.conditions(app)["ComparisonError"]


async def test_the_urls_of_submodules_are_no_object_of_lfs(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    modules = b'[submodule "lib"]\n\tpath = lib\n\turl = ../lib.git\n'
    files = {"web/a.yaml": config_map("a"), ".gitmodules": repository.lfs.put(modules)}
    app = follow(handlers, repository, files, enableLfs="true")
    assert "commit the file itself" in (await refusal(handlers, app)).message
