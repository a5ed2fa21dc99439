"""A push through the refresh and the render room, on a real Git host and in the real sandbox."""

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.git.credentials import SECRET_TYPE, Secret, SecretCredentials
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.sandbox import Sandbox, SandboxLimits
from agent.store.artifacts import ArtifactStore
from agent.store.refs import RefNotes
from agent.store.renders import RenderStore
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
from bus.status import Reason
from bus.verdicts import Retry
from handlers.refresh.handler import Refresh
from handlers.render.assemble import objects_of
from handlers.render.evaluate.handler import Evaluate
from handlers.render.handler import Render
from playground.githost import GitHost, Login, Repository
from tests.ciphers import CIPHER
from tests.render.world import NAMESPACE, Cluster, Noon, Served

pytestmark = pytest.mark.flow

BROKEN = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [\n"


@dataclass
class Rooms:
    """Two rooms and what they touch."""

    cluster: Cluster
    clock: Noon
    git: Mirrors
    artifacts: ArtifactStore
    renders: RenderStore
    refs: RefNotes
    sandbox: Sandbox
    secrets: list[Secret]

    async def refresh(self, repository: Repository, ref: str = "") -> Sequence[Event]:
        room = Refresh(
            apps=self.cluster.apps,
            git=self.git,
            commits=self.git,
            renders=self.renders,
            refs=self.refs,
            clock=self.clock,
        )
        return await room(RefreshRepository(repository=RepositoryKey.of(repository.url), ref=ref))

    async def render(self, app: AppKey, *, hard: bool = False) -> Event:
        room = Render(
            apps=self.cluster.apps,
            git=self.git,
            evaluate=Evaluate(renderer=self.sandbox, live=Served(), control_namespace=NAMESPACE),
            artifacts=self.artifacts,
            renders=self.renders,
            clock=self.clock,
        )
        return (await room(RefreshApp(app=app, hard=hard)))[0]

    async def settle(self, repository: Repository, *apps: AppKey) -> None:
        """Everything fetched and rendered once."""
        await self.refresh(repository)
        for app in apps:
            assert isinstance(await self.render(app), ManifestsRendered)


@pytest.fixture
async def rooms(tmp_path: Path, sandbox_binary: Path) -> AsyncIterator[Rooms]:
    secrets: list[Secret] = []
    credentials = SecretCredentials(lambda: secrets)
    async with (
        Mirrors(MirrorSettings(folder=tmp_path / "git"), credentials) as git,
        Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox,
    ):
        yield Rooms(
            cluster=Cluster(),
            clock=Noon(),
            git=git,
            artifacts=ArtifactStore.open(tmp_path / "artifacts", cipher=CIPHER),
            renders=RenderStore.open(tmp_path / "renders"),
            refs=RefNotes(),
            sandbox=sandbox,
            secrets=secrets,
        )


@pytest.fixture
def repository(git_host: GitHost) -> Repository:
    return git_host.create(f"Shop-{uuid.uuid4().hex[:8]}")


def config_map(name: str, **data: str) -> bytes:
    lines = [f"  {key}: {value!r}" for key, value in data.items()]
    head = ["apiVersion: v1", "kind: ConfigMap", "metadata:", f"  name: {name}", "data:"]
    return "\n".join([*head, *lines, ""]).encode()


def asked(events: Sequence[Event]) -> set[str]:
    return {event.app.name for event in events if isinstance(event, RefreshApp)}


def two_apps(rooms: Rooms, repository: Repository) -> tuple[AppKey, AppKey]:
    repository.commit({"web/a.yaml": config_map("web"), "api/a.yaml": config_map("api")})
    web = rooms.cluster.add("web", repository.url, {"path": "web"})
    return web, rooms.cluster.add("api", repository.url, {"path": "api"})


async def test_a_push_asks_for_the_application_it_touches_only(
    rooms: Rooms, repository: Repository
) -> None:
    await rooms.settle(repository, *two_apps(rooms, repository))
    commit = repository.commit({"web/a.yaml": config_map("web", tag="2")})
    events = await rooms.refresh(repository, ref="refs/heads/main")
    assert asked(events) == {"web"}
    moved = next(event for event in events if isinstance(event, RevisionResolved))
    assert (moved.revision, moved.watching, moved.touched) == (commit, 2, 1)


async def test_a_push_tells_who_committed_what(rooms: Rooms, repository: Repository) -> None:
    two_apps(rooms, repository)
    message = "See https://bot:hunter2@git.example/x\n\nAnd more."
    repository.commit({"docs/a.md": b"1"}, message=message)
    events = await rooms.refresh(repository)
    moved = next(event for event in events if isinstance(event, RevisionResolved))
    assert moved.commit is not None
    assert moved.commit.author
    assert moved.commit.message == "See https://git.example/x"
    assert moved.commit.time.endswith("Z")


async def test_what_was_said_in_an_earlier_life_is_not_said_again_but_looked_at(
    rooms: Rooms, repository: Repository
) -> None:
    two_apps(rooms, repository)
    key, commit = RepositoryKey.of(repository.url), Revision(repository.head())
    rooms.refs.heard(key, "main", commit)
    events = await rooms.refresh(repository)
    assert asked(events) == {"web", "api"}
    assert not [event for event in events if isinstance(event, RevisionResolved)]
    later = repository.commit({"web/a.yaml": config_map("web", tag="2")})
    moved = next(
        event for event in await rooms.refresh(repository) if isinstance(event, RevisionResolved)
    )
    assert (moved.before, moved.revision) == (commit, later)


async def test_a_push_elsewhere_touches_nobody_and_writes_nothing(
    rooms: Rooms, repository: Repository
) -> None:
    web, api = two_apps(rooms, repository)
    await rooms.settle(repository, web, api)
    writes = rooms.cluster.table.writes
    repository.commit({"docs/README.md": b"hello"})
    assert asked(await rooms.refresh(repository)) == set()
    assert rooms.cluster.table.writes == writes


async def test_a_new_file_in_the_folder_touches_it(rooms: Rooms, repository: Repository) -> None:
    await rooms.settle(repository, *two_apps(rooms, repository))
    repository.commit({"web/b.yaml": config_map("more")})
    assert asked(await rooms.refresh(repository)) == {"web"}


async def test_a_renamed_file_touches_both_folders(rooms: Rooms, repository: Repository) -> None:
    web, api = two_apps(rooms, repository)
    repository.commit({"web/b.yaml": config_map("b")})
    await rooms.settle(repository, web, api)
    repository.commit({"web/b.yaml": None, "api/b.yaml": config_map("b")})
    assert asked(await rooms.refresh(repository)) == {"web", "api"}


async def test_a_shared_base_touches_who_builds_on_it(rooms: Rooms, repository: Repository) -> None:
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
    apps = [rooms.cluster.add(name, repository.url, {"path": p}) for name, p in paths.items()]
    await rooms.settle(repository, *apps)
    repository.commit({"base/a.yaml": config_map("base", tag="2")})
    assert asked(await rooms.refresh(repository)) == {"dev", "prod"}


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
    rooms: Rooms, repository: Repository, changed: str, touched: set[str]
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
    web = rooms.cluster.add("web", repository.url, {"path": "charts/web", "helm": helm})
    await rooms.settle(repository, web, rooms.cluster.add("o", repository.url, {"path": "other"}))
    repository.commit({changed: b"tag: two\n"})
    assert asked(await rooms.refresh(repository)) == touched


async def test_a_chart_file_that_appears_changes_the_type(
    rooms: Rooms, repository: Repository
) -> None:
    repository.commit(
        {"web/kustomization.yaml": b"resources: [a.yaml]", "web/a.yaml": config_map("a")}
    )
    web = rooms.cluster.add("web", repository.url, {"path": "web"})
    await rooms.settle(repository, web)
    repository.commit(
        {
            "web/Chart.yaml": b"apiVersion: v2\nname: web\nversion: 1.0.0\n",
            "web/templates/b.yaml": config_map("from-chart"),
        }
    )
    assert asked(await rooms.refresh(repository)) == {"web"}
    rendered = await rooms.render(web)
    assert isinstance(rendered, ManifestsRendered)
    assert await names_of(rooms, rendered) == ["from-chart"]


async def test_an_ask_that_was_lost_is_made_again_by_the_safety_net(
    rooms: Rooms, repository: Repository
) -> None:
    await rooms.settle(repository, *two_apps(rooms, repository))
    repository.commit({"web/a.yaml": config_map("web", tag="2")})
    assert asked(await rooms.refresh(repository, ref="refs/heads/main")) == {"web"}
    assert asked(await rooms.refresh(repository, ref="refs/heads/other")) == set()
    assert asked(await rooms.refresh(repository)) == {"web"}


async def test_objects_are_placed_and_stamped(rooms: Rooms, repository: Repository) -> None:
    web, _ = two_apps(rooms, repository)
    rendered = await rooms.render(web)
    assert isinstance(rendered, ManifestsRendered)
    content = await rooms.artifacts.get(rendered.digest)
    assert content is not None
    (written,) = objects_of(content)
    assert written["metadata"] == {
        "name": "web",
        "namespace": "shop",
        "annotations": {"argocd.argoproj.io/tracking-id": "web:/ConfigMap:shop/web"},
    }


async def test_the_same_again_is_cached_and_survives_a_restart(
    rooms: Rooms, repository: Repository, tmp_path: Path
) -> None:
    web, _ = two_apps(rooms, repository)
    first = await rooms.render(web)
    rooms.renders = RenderStore.open(tmp_path / "renders")
    rooms.artifacts = ArtifactStore.open(tmp_path / "artifacts", cipher=CIPHER)
    second = await rooms.render(web)
    assert isinstance(first, ManifestsRendered)
    assert isinstance(second, ManifestsRendered)
    assert (first.cached, second.cached) == (False, True)
    assert first.digest == second.digest


async def test_hard_renders_anew(rooms: Rooms, repository: Repository) -> None:
    web, _ = two_apps(rooms, repository)
    await rooms.render(web)
    again = await rooms.render(web, hard=True)
    assert isinstance(again, ManifestsRendered)
    assert not again.cached


async def test_a_lost_artifact_is_made_again(
    rooms: Rooms, repository: Repository, tmp_path: Path
) -> None:
    web, _ = two_apps(rooms, repository)
    first = await rooms.render(web)
    rooms.artifacts = ArtifactStore.open(tmp_path / "empty", cipher=CIPHER)
    again = await rooms.render(web)
    assert isinstance(first, ManifestsRendered)
    assert isinstance(again, ManifestsRendered)
    assert (again.cached, again.digest) == (False, first.digest)


async def test_the_refresh_annotation_fetches_and_is_removed(
    rooms: Rooms, repository: Repository
) -> None:
    web, _ = two_apps(rooms, repository)
    await rooms.render(web)
    commit = repository.commit({"web/a.yaml": config_map("web", tag="2")})
    rooms.cluster.ask_refresh(web, "normal")
    rendered = await rooms.render(web)
    assert isinstance(rendered, ManifestsRendered)
    assert rendered.revision == commit
    app = rooms.cluster.apps.get(web)
    assert app is not None
    assert not app.metadata.annotations


async def test_a_pinned_operation_renders_its_commit(rooms: Rooms, repository: Repository) -> None:
    web, _ = two_apps(rooms, repository)
    old = repository.head()
    repository.commit({"web/a.yaml": config_map("web", tag="2")})
    await rooms.settle(repository, web)
    rooms.cluster.change(web, {"operation": {"sync": {"revision": old}}})
    rendered = await rooms.render(web)
    assert isinstance(rendered, ManifestsRendered)
    assert rendered.revision == old


async def test_broken_yaml_keeps_the_last_render_and_says_where(
    rooms: Rooms, repository: Repository
) -> None:
    web, api = two_apps(rooms, repository)
    await rooms.settle(repository, web, api)
    good = rooms.renders.recall(web)
    repository.commit({"web/a.yaml": BROKEN})
    await rooms.refresh(repository)
    event = await rooms.render(web)
    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.YAML_INVALID
    assert event.revision == repository.head()
    assert "web/a.yaml" in event.message
    assert rooms.renders.recall(web) == good
    assert rooms.cluster.conditions(web).keys() == {"ComparisonError"}
    assert rooms.cluster.status(web)["sync"]["status"] == "Unknown"


async def test_a_mended_file_removes_the_condition(rooms: Rooms, repository: Repository) -> None:
    web, _ = two_apps(rooms, repository)
    repository.commit({"web/a.yaml": BROKEN})
    await rooms.refresh(repository)
    assert isinstance(await rooms.render(web), RenderFailed)
    repository.commit({"web/a.yaml": config_map("web")})
    assert "web" in asked(await rooms.refresh(repository))
    assert isinstance(await rooms.render(web), ManifestsRendered)
    assert rooms.cluster.conditions(web) == {}


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
    rooms: Rooms, repository: Repository, content: bytes, reason: Reason
) -> None:
    repository.commit({"web/bad.yaml": content})
    web = rooms.cluster.add("web", repository.url, {"path": "web"})
    event = await rooms.render(web)
    assert isinstance(event, RenderFailed)
    assert event.reason is reason
    assert event.file == "web/bad.yaml"


async def test_a_folder_that_is_not_there_names_its_neighbours(
    rooms: Rooms, repository: Repository
) -> None:
    two_apps(rooms, repository)
    lost = rooms.cluster.add("lost", repository.url, {"path": "weeb"})
    event = await rooms.render(lost)
    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.PATH_NOT_FOUND
    assert "api, web" in event.message


async def test_an_override_file_is_refused_and_not_ignored(
    rooms: Rooms, repository: Repository
) -> None:
    web, _ = two_apps(rooms, repository)
    await rooms.settle(repository, web)
    repository.commit({"web/.argocd-source-web.yaml": b"kustomize: {}\n"})
    assert "web" in asked(await rooms.refresh(repository))
    event = await rooms.render(web)
    assert isinstance(event, RenderFailed)
    assert ".argocd-source-web.yaml" in event.message


async def test_an_invalid_spec_is_a_condition_and_a_fact(
    rooms: Rooms, repository: Repository
) -> None:
    web, _ = two_apps(rooms, repository)
    rooms.cluster.change(web, {"spec": {"destination": {"server": "https://elsewhere"}}})
    event = await rooms.render(web)
    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.INVALID_SPEC
    assert rooms.cluster.conditions(web).keys() == {"InvalidSpecError"}


async def test_a_host_that_is_down_is_told_retried_and_forgotten_when_it_is_back(
    rooms: Rooms, own_git_host: GitHost
) -> None:
    repository = own_git_host.create("shop")
    web, api = two_apps(rooms, repository)
    await rooms.settle(repository, web, api)
    await own_git_host.down()
    first = await failure(rooms, repository)
    (fact,) = first.say
    assert isinstance(fact, RefreshFailed)
    assert repository.url in fact.message
    assert repository.url in rooms.cluster.conditions(web)["ComparisonError"]
    writes = rooms.cluster.table.writes
    rooms.clock.pass_by(60)
    second = await failure(rooms, repository)
    assert first.after < second.after <= 180
    assert rooms.cluster.table.writes == writes
    await own_git_host.up()
    assert asked(await rooms.refresh(repository)) == {"web", "api"}
    assert isinstance(await rooms.render(web), ManifestsRendered)
    assert rooms.cluster.conditions(web) == {}


async def test_a_first_render_without_the_host_asks_for_the_repository(
    rooms: Rooms, own_git_host: GitHost
) -> None:
    repository = own_git_host.create("shop")
    web, _ = two_apps(rooms, repository)
    await own_git_host.down()
    assert isinstance(await rooms.render(web), RenderFailed)
    await own_git_host.up()
    assert asked(await rooms.refresh(repository)) >= {"web"}


async def test_wrong_credentials_name_the_secret_everywhere_and_hide_the_password(
    rooms: Rooms, repository: Repository
) -> None:
    web, _ = two_apps(rooms, repository)
    repository.login = Login(user="kim", password="right")
    data = {"url": repository.url, "username": "kim", "password": "hide-me"}
    labels = {SECRET_TYPE: "repository"}
    rooms.secrets.append(Secret(namespace="argocd", name="repo", labels=labels, data=data))
    retry = await failure(rooms, repository)
    (fact,) = retry.say
    assert isinstance(fact, RefreshFailed)
    assert fact.reason is Reason.CREDENTIALS_REFUSED
    told = fact.message + str(retry) + rooms.cluster.conditions(web)["ComparisonError"]
    assert "argocd/repo" in told
    assert "hide-me" not in told


async def test_a_branch_that_is_gone_fails_those_who_follow_it(
    rooms: Rooms, repository: Repository
) -> None:
    web, _ = two_apps(rooms, repository)
    lost = rooms.cluster.add("lost", repository.url, {"path": "web", "targetRevision": "gone"})
    await rooms.settle(repository, web)
    assert asked(await rooms.refresh(repository, ref="x")) >= {"lost"}
    event = await rooms.render(lost)
    assert isinstance(event, RenderFailed)
    assert event.reason is Reason.REVISION_NOT_FOUND
    assert "main" in event.message


async def failure(rooms: Rooms, repository: Repository) -> Retry:
    with pytest.raises(Retry) as caught:
        await rooms.refresh(repository)
    return caught.value


async def names_of(rooms: Rooms, rendered: ManifestsRendered) -> list[str]:
    content = await rooms.artifacts.get(rendered.digest)
    assert content is not None
    return [one["metadata"]["name"] for one in objects_of(content)]
