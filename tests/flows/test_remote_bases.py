"""Kustomizations that build on other repositories, through the handlers of refresh and render.

Git host, mirrors, GnuPG and the sandbox are real; the handlers are called by hand.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from agent.ingress.webhooks.push import Push, touched
from agent.store.repositories_in_use import RepositoriesInUse
from bus.events import ManifestsRendered, RenderFailed, RevisionResolved
from bus.identity import AppKey, RepositoryKey, Revision
from bus.status import Reason
from handlers.application.spec import Source
from handlers.manifest.manifest_assembly import objects_of
from handlers.ports.remote_base import RemoteBase
from handlers.ports.rendering import RenderError
from handlers.render.remote_bases import RemoteBases
from handlers.render.source_resolver import ResolvedSource
from playground.githost import GitHost, HostedRepository
from tests.flows.test_git_handlers import GitHandlers, asked, config_map, handlers
from tests.signers import SignedRepository, Signers
from tests.unit.agent.renderer.written_tree import WrittenTree

__all__ = ["handlers"]

BASE: Mapping[str, bytes | str | None] = {
    "base/kustomization.yaml": b"resources: [a.yaml, ../common]\n",
    "base/a.yaml": config_map("a", tag="1"),
    "common/kustomization.yaml": b"resources: [b.yaml]\n",
    "common/b.yaml": config_map("b"),
}
EVERYTHING = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}


@dataclass
class BuildsOnBase:
    """An Application whose kustomization names a base in another repository."""

    handlers: GitHandlers
    own: HostedRepository
    base: HostedRepository
    app: AppKey

    def url(self, folder: str = "base", query: str = "") -> str:
        return f"{self.base.url}//{folder}{query}"

    def name(self, *bases: str) -> None:
        names = ", ".join(f"'{one}'" for one in bases)
        text = f"resources: [{names}]\nnamePrefix: my-\n".encode()
        self.own.commit({"web/kustomization.yaml": text})

    def project(self, **spec: Any) -> None:
        metadata = {"name": "default", "namespace": "argocd"}
        body = {"metadata": metadata, "spec": EVERYTHING | spec}
        self.handlers.cluster.apps.put_project(msgspec.json.encode(body))

    async def render(self) -> ManifestsRendered | RenderFailed:
        await self.handlers.refresh(self.own)
        found = await self.handlers.render(self.app)
        assert isinstance(found, ManifestsRendered | RenderFailed)
        return found

    async def objects(self) -> dict[str, Mapping[str, str]]:
        """Render; the data of the objects by their names."""
        rendered = await self.render()
        assert isinstance(rendered, ManifestsRendered), rendered
        content = await self.handlers.artifacts.get(rendered.digest)
        assert content is not None
        return {one["metadata"]["name"]: one.get("data") or {} for one in objects_of(content)}

    async def refused(self) -> RenderFailed:
        failed = await self.render()
        assert isinstance(failed, RenderFailed), failed
        condition = self.handlers.cluster.conditions(self.app)["ComparisonError"]
        assert condition.endswith(failed.message)
        return failed

    async def asked_by_base(self, ref: str = "refs/heads/main") -> set[str]:
        return asked(await self.handlers.refresh(self.base, ref=ref))


@pytest.fixture
def web(handlers: GitHandlers, git_host: GitHost) -> BuildsOnBase:
    own = git_host.create(f"own/{uuid.uuid4().hex}")
    base = git_host.create(f"base/{uuid.uuid4().hex}")
    base.commit(BASE)
    own.commit({"web/README.md": b""})
    app = handlers.cluster.add("web", own.url, {"path": "web"})
    found = BuildsOnBase(handlers, own, base, app)
    found.project()
    return found


@pytest.mark.parametrize("query", ["", "?ref=main", "?ref=refs/heads/main&timeout=9"])
async def test_a_base_in_another_repository_is_built_and_followed(
    web: BuildsOnBase, query: str
) -> None:
    web.name(web.url(query=query))
    assert await web.objects() == {"my-a": {"tag": "1"}, "my-b": {}}
    assert await web.asked_by_base() == set()

    web.base.commit({"base/a.yaml": config_map("a", tag="2"), "other": b"1"})
    assert await web.asked_by_base() == {"web"}
    assert await web.objects() == {"my-a": {"tag": "2"}, "my-b": {}}

    later = web.base.commit({"other": b"2"})
    events = await web.handlers.refresh(web.base)
    assert asked(events) == set()
    (moved,) = (one for one in events if isinstance(one, RevisionResolved))
    assert (moved.revision, moved.watching, moved.touched) == (later, 1, 0)

    web.own.commit({"web/kustomization.yaml": b"resources: []\nnamePrefix: x-\n"})
    await web.render()
    web.name("../../elsewhere")
    web.own.commit({"web/a.yaml": config_map("own")})
    web.name("a.yaml")
    assert await web.objects() == {"my-own": {}}
    web.base.commit({"base/a.yaml": config_map("a", tag="3")})
    assert await web.asked_by_base() == set()


async def test_a_base_of_one_commit_stays_there(web: BuildsOnBase) -> None:
    commit = web.base.head()
    web.name(web.url(query=f"?ref={commit}"))
    web.base.commit({"base/a.yaml": config_map("a", tag="2")})
    assert (await web.objects())["my-a"] == {"tag": "1"}
    assert web.handlers.renders.base_repositories() == ()


async def test_a_base_may_name_another_and_a_circle_of_them_is_refused(
    web: BuildsOnBase, git_host: GitHost
) -> None:
    third = git_host.create(f"third/{uuid.uuid4().hex}")
    third.commit({"kustomization.yaml": b"resources: [c.yaml]\n", "c.yaml": config_map("c")})
    web.base.commit({"base/kustomization.yaml": f"resources: ['{third.url}?ref=main']".encode()})
    web.name(web.url())
    assert await web.objects() == {"my-c": {}}
    third.commit({"c.yaml": config_map("c", tag="2")})
    assert asked(await web.handlers.refresh(third, ref="refs/heads/main")) == {"web"}

    third.commit({"kustomization.yaml": f"resources: ['{web.url()}']".encode()})
    await web.handlers.refresh(third, ref="refs/heads/main")
    failed = await web.refused()
    assert "cycle detected" in failed.message
    assert f"{web.base.url}//base" in failed.message


async def test_a_repository_that_the_project_does_not_permit_is_not_asked(
    web: BuildsOnBase,
) -> None:
    web.project(sourceRepos=[web.own.url])
    web.name(web.url())
    failed = await web.refused()
    assert failed.reason is Reason.NOT_PERMITTED
    assert f"add {web.base.url} to its spec.sourceRepos" in failed.message
    assert web.handlers.git.looked_at(web.handlers.git.access(web.base.url)) is None

    web.project()
    assert await web.objects()
    web.project(sourceRepos=[web.own.url])
    assert (await web.refused()).reason is Reason.NOT_PERMITTED
    web.base.commit({"base/a.yaml": config_map("a", tag="2")})
    assert await web.asked_by_base() == set()


@pytest.mark.parametrize(
    ("folder", "query", "reason", "words"),
    [
        ("base", "?ref=gone", Reason.REVISION_NOT_FOUND, "gone"),
        ("gone", "", Reason.PATH_NOT_FOUND, "there is no folder gone in it"),
        ("base/a.yaml", "", Reason.REMOTE_BASE, "names the remote file"),
    ],
    ids=["ref", "folder", "file"],
)
async def test_a_base_that_cannot_be_had_is_named_with_its_cause(
    web: BuildsOnBase, folder: str, query: str, reason: Reason, words: str
) -> None:
    web.name(web.url(folder, query))
    failed = await web.refused()
    assert failed.reason is reason
    assert words in failed.message
    assert web.base.url in failed.message


async def test_a_password_in_the_url_of_a_base_is_refused_and_not_shown(web: BuildsOnBase) -> None:
    web.name("https://kim:hunter2@git.example/org/repo//base")
    failed = await web.refused()
    assert failed.reason is Reason.INVALID_SPEC
    assert "store it in a Secret" in failed.message
    assert "hunter2" not in failed.message


async def test_more_bases_than_the_limit_are_refused_before_any_is_read(web: BuildsOnBase) -> None:
    web.name(*(web.url(query=f"?ref=v{number}") for number in range(31)))
    failed = await web.refused()
    assert "more than 30 remote bases" in failed.message
    assert web.handlers.git.looked_at(web.handlers.git.access(web.base.url)) is None


async def test_nothing_is_built_on_a_base_that_is_not_proven(
    web: BuildsOnBase, signers: Signers
) -> None:
    web.handlers.keys.update(signers.listed)
    base = SignedRepository(web.base, signers)
    policy = {
        "repos": [{"url": web.base.url}],
        "gpg": {"mode": "head", "keys": [signers.good.fingerprint]},
    }
    web.project(sourceIntegrity={"git": {"policies": [policy]}})
    web.name(web.url())
    failed = await web.refused()
    assert failed.reason is Reason.SOURCE_UNPROVEN
    assert failed.unproven is not None
    assert (failed.unproven.commit, failed.unproven.problem) == (web.base.head(), "not signed")
    assert web.base.url in failed.message

    base.commit({"base/a.yaml": config_map("a", tag="2").decode()}, signers.good)
    await web.asked_by_base()
    web.handlers.cluster.ask_refresh(web.app, "normal")
    assert (await web.objects())["my-a"] == {"tag": "2"}
    record = web.handlers.renders.recall(web.app)
    app = web.handlers.cluster.apps.get(web.app)
    assert record is not None
    assert app is not None
    assert web.handlers.prover.holds(app, record)

    unsigned = base.commit({"base/a.yaml": config_map("a", tag="3").decode()}, None)
    assert await web.asked_by_base() == {"web"}
    failed = await web.refused()
    assert failed.unproven is not None
    assert failed.unproven.commit == unsigned
    assert web.handlers.renders.recall(web.app) == record

    web.handlers.keys.clear()
    assert not web.handlers.prover.holds(app, record)


async def test_deliveries_and_polls_find_the_repository_of_a_base(web: BuildsOnBase) -> None:
    in_use = RepositoriesInUse(web.handlers.cluster.apps, web.handlers.renders)
    own, base = RepositoryKey.of(web.own.url), RepositoryKey.of(web.base.url)
    web.name(web.url(query="?ref=main"))

    def repositories(ref: str) -> Sequence[RepositoryKey]:
        url = web.base.url.removesuffix(".git").upper().replace("HTTP", "http")
        push = Push(provider="github", event="push", repositories=(url,), ref=ref)
        return [one.repository for one in touched(push, in_use)]

    assert list(in_use.followed_repositories()) == [own]
    assert repositories("refs/heads/main") == []
    await web.objects()
    assert list(in_use.followed_repositories()) == [own, base]
    assert repositories("refs/heads/main") == [base]
    assert repositories("refs/heads/other") == []
    assert repositories("refs/tags/v1") == [base]
    await web.handlers.renders.forget(web.app)
    assert list(in_use.followed_repositories()) == [own]


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "169.254.169.254", "localhost"])
async def test_a_base_at_an_address_of_the_agents_machine_is_not_asked(
    web: BuildsOnBase, host: str
) -> None:
    sources, app = web.handlers.sources, web.handlers.cluster.apps.get(web.app)
    assert app is not None
    source = Source(repo_url="https://git.example/own")
    user = ResolvedSource(
        app=app,
        source=source,
        access=sources.access(source, "default"),
        revision=Revision("0" * 40),
        tree=WrittenTree({}),
    )
    bases = RemoteBases(
        sources=sources,
        apps=web.handlers.cluster.apps,
        prover=web.handlers.prover,
        clock=web.handlers.clock,
    )
    with pytest.raises(RenderError, match="an address of the agent's machine"):
        await bases.read(RemoteBase(f"http://{host}/org/base", "main"), user)
