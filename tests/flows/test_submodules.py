"""Submodules: read where a render looks, as sources of the project, and of a pinned commit.

Git host, mirrors, GnuPG and the sandbox are real; the handlers are called by hand.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from bus.events import ManifestsRendered, RenderFailed
from bus.identity import AppKey
from bus.repository_url import RepositoryUrl
from bus.route import Retry
from bus.status import Reason
from handlers.manifest.manifest_assembly import objects_of
from handlers.ports import RepositoryAccess
from handlers.ports.rendering import RenderError
from handlers.render.submodule_reader import SubmoduleReader
from handlers.render.submodule_tree import SubmoduleNeededError, SubmoduleTree
from playground.githost import GitHost, HostedRepository
from playground.gitstore import Changes, Gitlink, Symlink
from tests.flows.test_git_handlers import GitHandlers, asked, config_map, handlers
from tests.signers import SignedRepository, Signers
from tests.unit.agent.renderer.written_tree import WrittenTree

__all__ = ["handlers"]

Create = Callable[[str], HostedRepository]


@pytest.fixture
def create(git_host: GitHost) -> Create:
    group = f"modules/{uuid.uuid4().hex[:8]}"
    return lambda name: git_host.create(f"{group}/{name}")


def modules(**urls: str) -> bytes:
    """A `.gitmodules` with a path for each name."""
    return "".join(
        f'[submodule "{name}"]\n\tpath = {name}\n\turl = {url}\n' for name, url in urls.items()
    ).encode()


def project(handlers: GitHandlers, *permitted: str, **spec: Any) -> None:
    body = {
        "metadata": {"name": "default", "namespace": "argocd"},
        "spec": {
            "sourceRepos": [*permitted],
            "destinations": [{"server": "*", "namespace": "*"}],
            **spec,
        },
    }
    handlers.cluster.apps.put_project(msgspec.json.encode(body))


async def names(handlers: GitHandlers, app: AppKey, *, hard: bool = False) -> set[str]:
    """Render, and name the objects."""
    found = await handlers.render(app, hard=hard)
    assert isinstance(found, ManifestsRendered), found
    content = await handlers.artifacts.get(found.digest)
    assert content is not None
    return {one["metadata"]["name"] for one in objects_of(content)}


async def refusal(handlers: GitHandlers, app: AppKey) -> RenderFailed:
    found = await handlers.render(app)
    assert isinstance(found, RenderFailed), found
    return found


async def test_a_render_has_the_files_of_the_submodule_at_the_commit_of_its_parent(
    handlers: GitHandlers, create: Create
) -> None:
    lib, inner, parent = create("lib"), create("inner"), create("app")
    deep = inner.commit(
        {"c.yaml": config_map("deep"), "kustomization.yaml": b"resources: [c.yaml]\n"}
    )
    pinned = lib.commit(
        {
            "base/kustomization.yaml": b"resources: [b.yaml, ../inner]\n",
            "base/b.yaml": config_map("b"),
            ".gitmodules": modules(inner="../inner.git"),
            "inner": Gitlink(deep),
        }
    )
    lib.commit({"base/b.yaml": config_map("later")})
    parent.commit(
        {
            ".gitmodules": modules(lib="../lib.git", unread="https://127.0.0.1:1/none"),
            "lib": Gitlink(pinned),
            "unread": Gitlink(pinned),
            "web/kustomization.yaml": b"resources: [../lib/base, a.yaml]\n",
            "web/a.yaml": config_map("a"),
            "plain/p.yaml": config_map("p"),
        }
    )
    web = handlers.cluster.add("web", parent.url, {"path": "web"})
    inside = handlers.cluster.add("inside", parent.url, {"path": "lib/inner"})
    plain = handlers.cluster.add("plain", parent.url, {"path": "plain"})
    assert await names(handlers, web) == {"a", "b", "deep"}
    assert await names(handlers, inside) == {"deep"}
    assert await names(handlers, plain) == {"p"}


async def test_a_push_that_moves_the_submodule_touches_who_reads_it(
    handlers: GitHandlers, create: Create
) -> None:
    lib, parent = create("lib"), create("app")
    first = lib.commit({"all/b.yaml": config_map("b")})
    second = lib.commit({"all/b.yaml": config_map("c")})
    parent.commit(
        {
            ".gitmodules": modules(lib="../lib.git"),
            "lib": Gitlink(first),
            "link": Symlink("lib/all"),
            "plain/p.yaml": config_map("p"),
        }
    )
    apps = [
        handlers.cluster.add(name, parent.url, {"path": path, "directory": {"recurse": True}})
        for name, path in {
            "whole": ".",
            "inside": "lib/all",
            "by-link": "link",
            "p": "plain",
        }.items()
    ]
    await handlers.settle(parent, *apps)
    parent.commit({"docs/a.md": b"1"})
    assert asked(await handlers.refresh(parent)) <= {"whole"}
    for app in apps:
        again = await handlers.render(app)
        assert isinstance(again, ManifestsRendered)
        assert again.cached or app.name == "whole"
    parent.commit({"lib": Gitlink(second)})
    assert asked(await handlers.refresh(parent)) == {"whole", "inside", "by-link"}
    assert await names(handlers, apps[0]) == {"c", "p"}
    assert await names(handlers, apps[2]) == {"c"}
    parent.commit({".gitmodules": modules(lib="file:///etc")})
    assert asked(await handlers.refresh(parent)) == {"whole", "inside", "by-link"}
    assert (await refusal(handlers, apps[1])).reason is Reason.INVALID_SPEC


async def test_a_submodule_is_a_source_of_the_project(
    handlers: GitHandlers, create: Create
) -> None:
    lib, parent = create("lib"), create("app")
    pinned = lib.commit({"b.yaml": config_map("b")})
    parent.commit({".gitmodules": modules(lib="../lib.git"), "lib": Gitlink(pinned)})
    app = handlers.cluster.add("web", parent.url, {"path": "lib"})
    project(handlers, parent.url)
    fact = await refusal(handlers, app)
    assert fact.reason is Reason.NOT_PERMITTED
    assert "the submodule 'lib' of" in fact.message
    assert "sourceRepos of the AppProject 'default'" in fact.message
    project(handlers, parent.url, lib.url)
    assert await names(handlers, app) == {"b"}
    project(handlers, parent.url)
    assert (await refusal(handlers, app)).reason is Reason.NOT_PERMITTED


@pytest.mark.parametrize(
    ("url", "reason", "words"),
    [
        ("file:///etc", Reason.INVALID_SPEC, "'file'"),
        ("/srv/git/lib", Reason.INVALID_SPEC, "correct its url"),
        ("ext::sh -c touch% /tmp/x", Reason.INVALID_SPEC, "correct its url"),
        ("--upload-pack=touch /tmp/x", Reason.INVALID_SPEC, "correct its url"),
        ("https://kim:c4nary@127.0.0.1:1/x", Reason.INVALID_SPEC, "belongs into a Secret"),
        ("oci://registry.example/x", Reason.INVALID_SPEC, "registry"),
        ("../../../../../x", Reason.INVALID_SPEC, "above the root"),
    ],
)
async def test_a_url_that_names_no_repository_is_refused_before_git_sees_it(
    handlers: GitHandlers, create: Create, url: str, reason: Reason, words: str
) -> None:
    parent = create("app")
    parent.commit({".gitmodules": modules(lib=url), "lib": Gitlink("1" * 40)})
    app = handlers.cluster.add("web", parent.url, {"path": "lib"})
    fact = await refusal(handlers, app)
    assert fact.reason is reason
    assert words in fact.message
    assert "c4nary" not in fact.message
    assert "the submodule 'lib' of" in handlers.cluster.conditions(app)["ComparisonError"]


async def test_submodules_have_a_limit_of_depth(handlers: GitHandlers, create: Create) -> None:
    repository = create("app")
    commit = repository.commit({"a.yaml": config_map("a"), ".gitmodules": modules(x="../app.git")})
    for _ in range(6):
        commit = repository.commit({"x": Gitlink(commit)})
    first = handlers.cluster.add("first", repository.url, {"path": "x/x/x/x/x"})
    last = handlers.cluster.add("last", repository.url, {"path": "x/x/x/x/x/x"})
    assert await names(handlers, first) == {"a"}
    assert "submodules are read 5 deep" in (await refusal(handlers, last)).message


async def test_a_submodule_that_cannot_be_read_is_tried_again(
    handlers: GitHandlers, create: Create
) -> None:
    lib, parent = create("lib"), create("app")
    pinned = lib.commit({"b.yaml": config_map("b")})
    wrong = modules(lib="https://127.0.0.1:1/lib")
    parent.commit({".gitmodules": wrong, "lib": Gitlink(pinned)})
    app = handlers.cluster.add("web", parent.url, {"path": "lib"})
    with pytest.raises(Retry):
        await handlers.render(app)
    assert (
        "https://127.0.0.1:1/lib cannot be fetched"
        in (handlers.cluster.conditions(app)["ComparisonError"])
    )
    parent.commit({".gitmodules": modules(lib="../lib.git"), "lib": Gitlink("1" * 40)})
    await handlers.refresh(parent)
    assert (await refusal(handlers, app)).reason is Reason.REVISION_NOT_FOUND


async def test_the_folder_is_empty_where_submodules_are_switched_off(
    handlers: GitHandlers, create: Create
) -> None:
    lib, parent = create("lib"), create("app")
    pinned = lib.commit({"b.yaml": config_map("b")})
    parent.commit({".gitmodules": modules(lib="../lib.git"), "lib": Gitlink(pinned)})
    app = handlers.cluster.add("web", parent.url, {"path": "lib"})
    assert await names(handlers, app) == {"b"}
    handlers.submodules = False
    assert (await refusal(handlers, app)).reason is Reason.PATH_NOT_FOUND


async def test_a_submodule_is_signed_as_the_project_demands(
    handlers: GitHandlers, create: Create, signers: Signers
) -> None:
    lib, parent = create("lib"), SignedRepository(create("app"), signers)
    handlers.keys.update(signers.listed)
    unsigned = lib.commit({"b.yaml": config_map("b")})
    changes: Changes = {".gitmodules": modules(lib="../lib.git"), "lib": Gitlink(unsigned)}
    parent.commit(changes, signers.good)
    gpg = {"mode": "head", "keys": [signers.good.fingerprint]}
    policies = [{"repos": [{"url": parent.repository.url}], "gpg": gpg}]
    project(handlers, "*", sourceIntegrity={"git": {"policies": policies}})
    app = handlers.cluster.add("web", parent.repository.url, {"path": "lib"})
    assert await names(handlers, app) == {"b"}
    record = handlers.renders.recall(app)
    application = handlers.cluster.apps.get(app)
    assert record is not None
    assert application is not None
    assert handlers.prover.holds(application, record)
    # From now on all repositories are to be signed: the render counts no more.
    policies[0]["repos"] = [{"url": "*"}]
    project(handlers, "*", sourceIntegrity={"git": {"policies": policies}})
    assert not handlers.prover.holds(application, record)
    fact = await refusal(handlers, app)
    assert fact.reason is Reason.SOURCE_UNPROVEN
    assert fact.unproven is not None
    assert fact.unproven.commit == unsigned
    assert "submodule lib" in fact.message
    signed = SignedRepository(lib, signers).commit({"b.yaml": config_map("c")}, signers.good)
    changes = {"lib": Gitlink(signed)}
    parent.commit(changes, signers.good)
    await handlers.refresh(parent.repository)
    assert await names(handlers, app) == {"c"}


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "169.254.169.254", "localhost"])
async def test_a_submodule_at_an_address_of_the_agents_machine_is_not_asked(
    handlers: GitHandlers, create: Create, host: str
) -> None:
    project(handlers, "*")
    app = handlers.cluster.apps.get(handlers.cluster.add("web", create("app").url, {"path": "web"}))
    assert app is not None
    access = RepositoryAccess(RepositoryUrl.parse("https://git.example/own"))
    tree = SubmoduleTree(WrittenTree({}), access, {"lib": f"http://{host}/org/lib"})

    async def look() -> None:
        raise SubmoduleNeededError(tree, "lib")

    reader = SubmoduleReader(sources=handlers.sources, apps=handlers.cluster.apps)
    with pytest.raises(RenderError, match="an address of the agent's machine"):
        await reader.completed(app, look)
