"""A push through the refresh and the render handler, on a real Git host and in the real sandbox."""

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.gnupg import Gnupg
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.refs import ResolvedRefs
from agent.git.repository_secrets import SecretCredentials
from agent.git.server_trust import MachineTrust
from agent.git.signatures import GitSignatures
from agent.lfs.repository_objects import lfs_reader
from agent.renderer.renderer import SandboxRenderer
from agent.sources import SourceReaders
from agent.store.artifact_store import ArtifactStore
from agent.store.render_store import RenderStore
from bus.events import (
    Event,
    ManifestsRendered,
    RefreshApp,
    RefreshFailed,
    RefreshRepository,
    RenderFailed,
    RevisionResolved,
)
from bus.identity import AppKey, RepositoryKey, Revision
from bus.route import Retry
from bus.status import Reason
from handlers.application.application import Application
from handlers.application.source_address import SourceKind
from handlers.application.spec import Source
from handlers.manifest.manifest_assembly import objects_of
from handlers.ports import RepositoryAccess
from handlers.refresh.handler import RefreshHandler
from handlers.render.chart_dependencies import ChartDependencies
from handlers.render.evaluator import Evaluator
from handlers.render.handler import RenderHandler
from handlers.render.remote_bases import RemoteBases
from handlers.render.render_maker import RenderMaker
from handlers.render.source_proof import SourceProver
from handlers.render.submodule_reader import SubmoduleReader
from handlers.trust.signing_trust import signing_trust
from playground.githost import GitHost, HostedRepository, HostLogin
from sandbox.client import Sandbox, SandboxLimits
from tests.ciphers import CIPHER
from tests.unit.handlers.one_cluster import OneCluster, OneSession
from tests.unit.handlers.render.kept_applications import (
    NAMESPACE,
    NoonClock,
    RenderCluster,
    ServedKindsTable,
)

BROKEN = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [\n"


@dataclass
class GitHandlers:
    """The handlers of refresh and render, and what they use."""

    cluster: RenderCluster
    clock: NoonClock
    git: Mirrors
    sources: SourceReaders
    artifacts: ArtifactStore
    renders: RenderStore
    refs: ResolvedRefs
    sandbox: Sandbox
    secrets: list[Secret]
    prover: SourceProver
    keys: dict[str, str]
    """The data of `argocd-gpg-keys-cm`."""
    signers: dict[str, str]
    """The data of `gitops-allowed-signers`."""
    submodules: bool = True

    async def refresh(self, repository: HostedRepository, ref: str = "") -> Sequence[Event]:
        handler = RefreshHandler(
            apps=self.cluster.apps,
            sources=self.sources,
            renders=self.renders,
            refs=self.refs,
            is_proven=self.prover.holds,
            clock=self.clock,
        )
        return await handler(
            RefreshRepository(repository=RepositoryKey.of(repository.url), ref=ref)
        )

    async def render(self, app: AppKey, *, hard: bool = False) -> Event:
        return (await self.events_of_render(app, hard=hard))[0]

    async def events_of_render(self, app: AppKey, *, hard: bool = False) -> Sequence[Event]:
        clusters = OneCluster(OneSession(live=ServedKindsTable()))
        dependencies = ChartDependencies(
            sources=self.sources, apps=self.cluster.apps, clock=self.clock
        )
        evaluate = Evaluator(
            renderer=SandboxRenderer(self.sandbox),
            clusters=clusters,
            dependencies=dependencies,
            bases=RemoteBases(
                sources=self.sources,
                apps=self.cluster.apps,
                prover=self.prover,
                clock=self.clock,
            ),
            submodules=SubmoduleReader(
                sources=self.sources, apps=self.cluster.apps, is_on=self.submodules
            ),
            control_namespace=NAMESPACE,
        )
        handler = RenderHandler(
            apps=self.cluster.apps,
            clusters=clusters,
            sources=self.sources,
            make=RenderMaker(
                prover=self.prover,
                evaluate=evaluate,
                artifacts=self.artifacts,
                renders=self.renders,
            ),
            renders=self.renders,
            check_rules=without_rules,
            clock=self.clock,
        )
        return await handler(RefreshApp(app=app, hard=hard))

    def source(self, app: AppKey) -> Source:
        found = self.cluster.apps.get(app)
        assert found is not None
        return found.sources[0]

    async def settle(self, repository: HostedRepository, *apps: AppKey) -> None:
        """Everything fetched and rendered once."""
        await self.refresh(repository)
        for app in apps:
            assert isinstance(await self.render(app), ManifestsRendered)


async def without_rules(app: Application) -> None:
    """Check nothing: no Application of these tests has ignore rules."""
    assert not app.spec.ignore_differences


@pytest.fixture
async def handlers(tmp_path: Path, sandbox_binary: Path) -> AsyncIterator[GitHandlers]:
    secrets: list[Secret] = []
    credentials = SecretCredentials(lambda: secrets)
    async with (
        Mirrors(
            MirrorSettings(folder=tmp_path / "git"), credentials, lfs=lfs_reader(MachineTrust())
        ) as git,
        Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox,
    ):
        cluster, clock = RenderCluster(), NoonClock()
        keys, signers = dict[str, str](), dict[str, str]()
        gnupg = Gnupg(tmp_path / "gnupg")
        yield GitHandlers(
            cluster=cluster,
            clock=clock,
            git=git,
            sources=SourceReaders(credentials=credentials, by_kind={SourceKind.GIT: git}),
            artifacts=ArtifactStore.open(tmp_path / "artifacts", cipher=CIPHER),
            renders=RenderStore.open(tmp_path / "renders"),
            refs=ResolvedRefs(),
            sandbox=sandbox,
            secrets=secrets,
            prover=SourceProver(
                project=cluster.apps.project,
                signatures=GitSignatures(git, gnupg, lambda: signing_trust(keys, signers)),
                clock=clock,
            ),
            keys=keys,
            signers=signers,
        )


@pytest.fixture
def repository(git_host: GitHost) -> HostedRepository:
    return git_host.create(f"Shop-{uuid.uuid4().hex[:8]}")


def config_map(name: str, **data: str) -> bytes:
    lines = [f"  {key}: {value!r}" for key, value in data.items()]
    head = ["apiVersion: v1", "kind: ConfigMap", "metadata:", f"  name: {name}", "data:"]
    return "\n".join([*head, *lines, ""]).encode()


def asked(events: Sequence[Event]) -> set[str]:
    return {event.app.name for event in events if isinstance(event, RefreshApp)}


def two_apps(handlers: GitHandlers, repository: HostedRepository) -> tuple[AppKey, AppKey]:
    repository.commit({"web/a.yaml": config_map("web"), "api/a.yaml": config_map("api")})
    web = handlers.cluster.add("web", repository.url, {"path": "web"})
    return web, handlers.cluster.add("api", repository.url, {"path": "api"})


async def test_a_push_asks_for_the_application_it_touches_only(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    await handlers.settle(repository, *two_apps(handlers, repository))
    commit = repository.commit({"web/a.yaml": config_map("web", tag="2")})
    events = await handlers.refresh(repository, ref="refs/heads/main")
    assert asked(events) == {"web"}
    moved = next(event for event in events if isinstance(event, RevisionResolved))
    assert (moved.revision, moved.watching, moved.touched) == (commit, 2, 1)


async def test_an_application_that_came_during_the_fetch_hears_of_the_push(
    handlers: GitHandlers, repository: HostedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await handlers.settle(repository, *two_apps(handlers, repository))
    repository.commit({"new/a.yaml": config_map("new")})
    fetch = Mirrors.fetch

    async def fetched_late(mirrors: Mirrors, access: RepositoryAccess) -> None:
        new = handlers.cluster.add("new", repository.url, {"path": "new"})
        assert isinstance(await handlers.render(new), RenderFailed)
        await fetch(mirrors, access)

    monkeypatch.setattr(Mirrors, "fetch", fetched_late)
    events = await handlers.refresh(repository, ref="refs/heads/main")
    assert asked(events) == {"new"}


async def test_a_push_tells_who_committed_what(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    two_apps(handlers, repository)
    message = "See https://bot:hunter2@git.example/x\n\nAnd more."
    repository.commit({"docs/a.md": b"1"}, message=message)
    events = await handlers.refresh(repository)
    moved = next(event for event in events if isinstance(event, RevisionResolved))
    assert moved.commit is not None
    assert moved.commit.author
    assert moved.commit.message == "See https://git.example/x"
    assert moved.commit.time.endswith("Z")


async def test_what_was_said_in_an_earlier_life_is_not_said_again_but_looked_at(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    two_apps(handlers, repository)
    key, commit = RepositoryKey.of(repository.url), Revision(repository.head())
    handlers.refs.recall_published(key, "main", commit)
    events = await handlers.refresh(repository)
    assert asked(events) == {"web", "api"}
    assert not [event for event in events if isinstance(event, RevisionResolved)]
    later = repository.commit({"web/a.yaml": config_map("web", tag="2")})
    moved = next(
        event for event in await handlers.refresh(repository) if isinstance(event, RevisionResolved)
    )
    assert (moved.before, moved.revision) == (commit, later)


async def test_a_push_elsewhere_touches_nobody_and_writes_nothing(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, api = two_apps(handlers, repository)
    await handlers.settle(repository, web, api)
    writes = handlers.cluster.table.writes
    repository.commit({"docs/README.md": b"hello"})
    assert asked(await handlers.refresh(repository)) == set()
    assert handlers.cluster.table.writes == writes


async def test_a_new_file_in_the_folder_touches_it(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    await handlers.settle(repository, *two_apps(handlers, repository))
    repository.commit({"web/b.yaml": config_map("more")})
    assert asked(await handlers.refresh(repository)) == {"web"}


async def test_a_renamed_file_touches_both_folders(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, api = two_apps(handlers, repository)
    repository.commit({"web/b.yaml": config_map("b")})
    await handlers.settle(repository, web, api)
    repository.commit({"web/b.yaml": None, "api/b.yaml": config_map("b")})
    assert asked(await handlers.refresh(repository)) == {"web", "api"}


async def test_a_shared_base_touches_who_builds_on_it(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    build_on_base = b"resources: [../../base]\nnamePrefix: x-\n"
    repository.commit(
        {
            "base/kustomization.yaml": b"resources: [a.yaml]\n",
            "base/a.yaml": config_map("base"),
            "envs/dev/kustomization.yaml": build_on_base,
            "envs/prod/kustomization.yaml": build_on_base,
            "other/a.yaml": config_map("other"),
        }
    )
    paths = {"dev": "envs/dev", "prod": "envs/prod", "other": "other"}
    apps = [handlers.cluster.add(name, repository.url, {"path": p}) for name, p in paths.items()]
    await handlers.settle(repository, *apps)
    repository.commit({"base/a.yaml": config_map("base", tag="2")})
    assert asked(await handlers.refresh(repository)) == {"dev", "prod"}


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        ("shared/values.yaml", {"web"}),
        ("shared/local.yaml", {"web"}),
        ("shared/other.yaml", set()),
        ("charts/README.md", set()),
    ],
    ids=["value file", "value file that was missing", "beside it", "beside the chart"],
)
async def test_a_value_file_outside_of_the_folder_touches_who_reads_it(
    handlers: GitHandlers, repository: HostedRepository, changed: str, touched: set[str]
) -> None:
    """The second value file is not there at first, which was read, too."""
    repository.commit(
        {
            "charts/web/Chart.yaml": b"apiVersion: v2\nname: web\nversion: 1.0.0\n",
            "charts/web/templates/a.yaml": config_map("web", tag="{{ .Values.tag }}"),
            "shared/values.yaml": b"tag: one\n",
            "other/a.yaml": config_map("other"),
        }
    )
    files = ["/shared/values.yaml", "../../shared/local.yaml"]
    helm = {"valueFiles": files, "ignoreMissingValueFiles": True}
    web = handlers.cluster.add("web", repository.url, {"path": "charts/web", "helm": helm})
    await handlers.settle(
        repository, web, handlers.cluster.add("o", repository.url, {"path": "other"})
    )
    repository.commit({changed: b"tag: two\n"})
    assert asked(await handlers.refresh(repository)) == touched


async def test_a_chart_file_that_appears_changes_the_type(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    repository.commit(
        {"web/kustomization.yaml": b"resources: [a.yaml]", "web/a.yaml": config_map("a")}
    )
    web = handlers.cluster.add("web", repository.url, {"path": "web"})
    await handlers.settle(repository, web)
    repository.commit(
        {
            "web/Chart.yaml": b"apiVersion: v2\nname: web\nversion: 1.0.0\n",
            "web/templates/b.yaml": config_map("from-chart"),
        }
    )
    assert asked(await handlers.refresh(repository)) == {"web"}
    rendered = await handlers.render(web)
    assert isinstance(rendered, ManifestsRendered)
    assert await names_of(handlers, rendered) == ["from-chart"]


async def test_an_ask_that_was_lost_is_made_again_by_the_safety_net(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    await handlers.settle(repository, *two_apps(handlers, repository))
    repository.commit({"web/a.yaml": config_map("web", tag="2")})
    assert asked(await handlers.refresh(repository, ref="refs/heads/main")) == {"web"}
    assert asked(await handlers.refresh(repository, ref="refs/heads/other")) == set()
    assert asked(await handlers.refresh(repository)) == {"web"}


async def test_objects_are_placed_and_stamped(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    rendered = await handlers.render(web)
    assert isinstance(rendered, ManifestsRendered)
    content = await handlers.artifacts.get(rendered.digest)
    assert content is not None
    (written,) = objects_of(content)
    assert written["metadata"] == {
        "name": "web",
        "namespace": "shop",
        "annotations": {"argocd.argoproj.io/tracking-id": "web:/ConfigMap:shop/web"},
    }


async def test_the_same_again_is_cached_and_survives_a_restart(
    handlers: GitHandlers, repository: HostedRepository, tmp_path: Path
) -> None:
    web, _ = two_apps(handlers, repository)
    first = await handlers.render(web)
    handlers.renders = RenderStore.open(tmp_path / "renders")
    handlers.artifacts = ArtifactStore.open(tmp_path / "artifacts", cipher=CIPHER)
    second = await handlers.render(web)
    assert isinstance(first, ManifestsRendered)
    assert isinstance(second, ManifestsRendered)
    assert (first.cached, second.cached) == (False, True)
    assert first.digest == second.digest


async def test_hard_renders_anew(handlers: GitHandlers, repository: HostedRepository) -> None:
    web, _ = two_apps(handlers, repository)
    await handlers.render(web)
    again = await handlers.render(web, hard=True)
    assert isinstance(again, ManifestsRendered)
    assert not again.cached


async def test_a_lost_artifact_is_made_again(
    handlers: GitHandlers, repository: HostedRepository, tmp_path: Path
) -> None:
    web, _ = two_apps(handlers, repository)
    first = await handlers.render(web)
    handlers.artifacts = ArtifactStore.open(tmp_path / "empty", cipher=CIPHER)
    again = await handlers.render(web)
    assert isinstance(first, ManifestsRendered)
    assert isinstance(again, ManifestsRendered)
    assert (again.cached, again.digest) == (False, first.digest)


async def test_the_refresh_annotation_fetches_and_is_removed(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    await handlers.render(web)
    commit = repository.commit({"web/a.yaml": config_map("web", tag="2")})
    handlers.cluster.ask_refresh(web, "normal")
    rendered = await handlers.render(web)
    assert isinstance(rendered, ManifestsRendered)
    assert rendered.revision == commit
    app = handlers.cluster.apps.get(web)
    assert app is not None
    assert not app.metadata.annotations


async def test_a_pinned_operation_renders_its_commit(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    old = repository.head()
    repository.commit({"web/a.yaml": config_map("web", tag="2")})
    await handlers.settle(repository, web)
    handlers.cluster.change(web, {"operation": {"sync": {"revision": old}}})
    rendered = await handlers.render(web)
    assert isinstance(rendered, ManifestsRendered)
    assert rendered.revision == old


async def test_broken_yaml_keeps_the_last_render_and_says_where(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, api = two_apps(handlers, repository)
    await handlers.settle(repository, web, api)
    good = handlers.renders.recall(web)
    repository.commit({"web/a.yaml": BROKEN})
    await handlers.refresh(repository)
    event = await handlers.render(web)
    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.YAML_INVALID
    assert event.revision == repository.head()
    assert "web/a.yaml" in event.message
    assert handlers.renders.recall(web) == good
    assert handlers.cluster.conditions(web).keys() == {"ComparisonError"}
    assert handlers.cluster.status(web)["sync"]["status"] == "Unknown"


async def test_a_mended_file_removes_the_condition(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    repository.commit({"web/a.yaml": BROKEN})
    await handlers.refresh(repository)
    assert isinstance(await handlers.render(web), RenderFailed)
    repository.commit({"web/a.yaml": config_map("web")})
    assert "web" in asked(await handlers.refresh(repository))
    assert isinstance(await handlers.render(web), ManifestsRendered)
    assert handlers.cluster.conditions(web) == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"apiVersion: v1\nkind: Nonsense\nmetadata: {name: a}\n", Reason.UNKNOWN_KIND),
        (config_map("web") + b"---\n" + config_map("web"), Reason.DUPLICATE_OBJECT),
        (b"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", Reason.MANIFEST_INVALID),
    ],
    ids=["unknown kind", "duplicate", "no name"],
)
async def test_a_bad_object_is_refused_with_its_file(
    handlers: GitHandlers, repository: HostedRepository, content: bytes, reason: Reason
) -> None:
    repository.commit({"web/bad.yaml": content})
    web = handlers.cluster.add("web", repository.url, {"path": "web"})
    event = await handlers.render(web)
    assert isinstance(event, RenderFailed)
    assert event.reason is reason
    assert event.file == "web/bad.yaml"


async def test_a_folder_that_is_not_there_names_its_neighbours(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    two_apps(handlers, repository)
    lost = handlers.cluster.add("lost", repository.url, {"path": "weeb"})
    event = await handlers.render(lost)
    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.PATH_NOT_FOUND
    assert "api, web" in event.message


async def test_a_folder_that_no_webhook_told_of_is_looked_for_once_more(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    await handlers.settle(repository, web)
    head = repository.commit({"new/a.yaml": config_map("new")})
    new = handlers.cluster.add("new", repository.url, {"path": "new"})
    handlers.cluster.change(new, {"metadata": {"creationTimestamp": "9999-01-01T00:00:00Z"}})

    event = await handlers.render(new)

    assert isinstance(event, ManifestsRendered)
    assert event.revision == head


async def test_a_look_for_a_folder_that_fails_asks_for_no_other_look(
    handlers: GitHandlers, repository: HostedRepository, git_host: GitHost
) -> None:
    web, _ = two_apps(handlers, repository)
    await handlers.settle(repository, web)
    lost = handlers.cluster.add("lost", repository.url, {"path": "weeb"})
    handlers.cluster.change(lost, {"metadata": {"creationTimestamp": "9999-01-01T00:00:00Z"}})

    await git_host.down()
    try:
        (event,) = await handlers.events_of_render(lost)
    finally:
        await git_host.up()

    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.PATH_NOT_FOUND


async def test_override_files_are_merged_over_the_source(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    await handlers.settle(repository, web)
    repository.commit(
        {
            "web/.argocd-source.yaml": "directory: {include: 'b.*'}\npath: elsewhere\n",
            "web/b.yaml": config_map("more"),
        }
    )
    assert "web" in asked(await handlers.refresh(repository))
    event = await handlers.render(web)
    assert isinstance(event, ManifestsRendered)
    assert (event.objects, event.cached) == (1, False)
    repository.commit({"web/.argocd-source-web.yaml": "directory: {include: null}\n"})
    assert "web" in asked(await handlers.refresh(repository))
    event = await handlers.render(web)
    assert isinstance(event, ManifestsRendered)
    assert event.objects > 1
    repository.commit({"web/.argocd-source-web.yaml": "directory: {inklude: x}\n"})
    assert "web" in asked(await handlers.refresh(repository))
    event = await handlers.render(web)
    assert isinstance(event, RenderFailed)
    assert "web/.argocd-source-web.yaml" in event.message
    assert "did you mean include?" in event.message


async def test_an_invalid_spec_is_a_condition_and_a_fact(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    handlers.cluster.change(web, {"spec": {"destination": {"name": "elsewhere"}}})
    event = await handlers.render(web)
    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.INVALID_SPEC
    assert handlers.cluster.conditions(web).keys() == {"InvalidSpecError"}


async def test_what_the_project_does_not_permit_is_not_looked_at(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    """Whatever a server answers would be shown to whoever wrote its address."""
    repository.commit({"web/a.yaml": config_map("a")})
    web, _ = two_apps(handlers, repository)
    limited = {
        "metadata": {"name": "default", "namespace": NAMESPACE},
        "spec": {"sourceRepos": ["https://git.example/*"]},
    }
    handlers.cluster.apps.put_project(msgspec.json.encode(limited))
    assert await handlers.refresh(repository) == ()
    assert handlers.git.looked_at(handlers.git.access(repository.url)) is None
    assert handlers.cluster.conditions(web) == {}


async def test_a_host_that_is_down_is_told_retried_and_forgotten_when_it_is_back(
    handlers: GitHandlers, own_git_host: GitHost
) -> None:
    repository = own_git_host.create("shop")
    web, api = two_apps(handlers, repository)
    await handlers.settle(repository, web, api)
    await own_git_host.down()
    first = await failure(handlers, repository)
    (fact,) = first.emit
    assert isinstance(fact, RefreshFailed)
    assert repository.url in fact.message
    assert repository.url in handlers.cluster.conditions(web)["ComparisonError"]
    writes = handlers.cluster.table.writes
    handlers.clock.pass_by(60)
    second = await failure(handlers, repository)
    assert first.after < second.after <= 180
    assert handlers.cluster.table.writes == writes
    await own_git_host.up()
    assert asked(await handlers.refresh(repository)) == {"web", "api"}
    assert isinstance(await handlers.render(web), ManifestsRendered)
    assert handlers.cluster.conditions(web) == {}


async def test_a_first_render_without_the_host_asks_for_the_repository(
    handlers: GitHandlers, own_git_host: GitHost
) -> None:
    repository = own_git_host.create("shop")
    web, _ = two_apps(handlers, repository)
    await own_git_host.down()
    assert isinstance(await handlers.render(web), RenderFailed)
    await own_git_host.up()
    assert asked(await handlers.refresh(repository)) >= {"web"}


async def test_wrong_credentials_name_the_secret_everywhere_and_hide_the_password(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    repository.login = HostLogin(user="kim", password="right")
    data = {"url": repository.url, "username": "kim", "password": "hide-me"}
    labels = {SECRET_TYPE: "repository"}
    handlers.secrets.append(Secret(namespace="argocd", name="repo", labels=labels, data=data))
    retry = await failure(handlers, repository)
    (fact,) = retry.emit
    assert isinstance(fact, RefreshFailed)
    assert fact.reason is Reason.CREDENTIALS_REFUSED
    texts = fact.message + str(retry) + handlers.cluster.conditions(web)["ComparisonError"]
    assert "argocd/repo" in texts
    assert "hide-me" not in texts


async def test_a_branch_that_is_gone_fails_those_who_follow_it(
    handlers: GitHandlers, repository: HostedRepository
) -> None:
    web, _ = two_apps(handlers, repository)
    lost = handlers.cluster.add("lost", repository.url, {"path": "web", "targetRevision": "gone"})
    await handlers.settle(repository, web)
    assert asked(await handlers.refresh(repository, ref="x")) >= {"lost"}
    event = await handlers.render(lost)
    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.REVISION_NOT_FOUND
    assert "main" in event.message


async def failure(handlers: GitHandlers, repository: HostedRepository) -> Retry:
    with pytest.raises(Retry) as caught:
        await handlers.refresh(repository)
    return caught.value


async def names_of(handlers: GitHandlers, rendered: ManifestsRendered) -> list[str]:
    content = await handlers.artifacts.get(rendered.digest)
    assert content is not None
    return [one["metadata"]["name"] for one in objects_of(content)]
