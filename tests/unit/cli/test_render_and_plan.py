"""gitops render and plan over local files: folders as they are, and commits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pygit2
import pytest

from bus.status import Reason
from cli.local.directory import LARGEST_FILE, DirectoryTree
from handlers.ports import EntryKind, RepositoryError
from tests.unit.cli.conftest import Gitops

MANIFESTS = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations: {argocd.argoproj.io/sync-wave: "2"}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
"""


BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n"


def app(**source: Any) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web", "namespace": "argocd"},
        "spec": {
            "source": {"repoURL": "https://git.example/shop", "path": "web", **source},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
        },
    }


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo" / "web"
    folder.mkdir(parents=True)
    (folder / "all.yaml").write_text(MANIFESTS)
    return folder.parent


@pytest.fixture
def app_file(tmp_path: Path) -> Path:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(app()))
    return file


def commit(repo: Path) -> str:
    made = pygit2.init_repository(str(repo))
    made.index.add_all()
    who = pygit2.Signature("a", "a@example.com")
    return str(made.create_commit("HEAD", who, who, "first", made.index.write_tree(), []))


def test_render_places_and_stamps_as_the_agent_does(
    with_sandbox: Gitops, repo: Path, app_file: Path
) -> None:
    ran = with_sandbox("render", "-f", app_file, "--repo", repo, "--json")

    assert ran.code == 0, ran.err
    (answer,) = ran.answers
    assert (answer["file"], answer["application"]) == (str(app_file), "argocd/web")
    service, config, namespace = answer["objects"]
    assert service["metadata"]["namespace"] == config["metadata"]["namespace"] == "shop"
    assert "namespace" not in namespace["metadata"]
    tracking = service["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"]
    assert tracking == "web:/Service:shop/web"


@pytest.mark.parametrize("verb", ["render", "plan"])
def test_a_field_that_the_agent_ignores_is_told(
    with_sandbox: Gitops, repo: Path, tmp_path: Path, verb: str
) -> None:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(app(zebra=1)))
    ran = with_sandbox(verb, "-f", file, "--repo", repo, "--json")
    message = f"{file}, document 1: spec.source.zebra is not known to the agent and is ignored"
    assert (ran.code, ran.err) == (0, f"gitops: warning: {message}\n")
    assert ran.answers[0]["warnings"] == [message]


def test_render_writes_yaml_for_people(with_sandbox: Gitops, repo: Path, app_file: Path) -> None:
    ran = with_sandbox("render", "-f", app_file, "--repo", repo)

    assert ran.out.startswith("---\napiVersion: v1\nkind: Service\n")


def test_render_takes_files_as_they_are_or_as_committed(
    with_sandbox: Gitops, repo: Path, app_file: Path
) -> None:
    first = commit(repo)
    (repo / "web" / "all.yaml").unlink()
    (repo / "web" / "new.yaml").write_text(MANIFESTS.replace("settings", "changed"))

    now = with_sandbox("render", "-f", app_file, "--repo", repo, "--json")
    then = with_sandbox("render", "-f", app_file, "--repo", repo, "--revision", first, "--json")

    configs = [ran.answers[0]["objects"][1] for ran in (now, then)]
    assert [one["metadata"]["name"] for one in configs] == ["changed", "settings"]


def test_a_revision_that_is_not_there_is_named(
    with_sandbox: Gitops, repo: Path, app_file: Path
) -> None:
    commit(repo)

    ran = with_sandbox("render", "-f", app_file, "--repo", repo, "--revision", "v9")

    assert (ran.code, "has no revision v9" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda repo: (repo / "web" / "x.yaml").write_text(BROKEN), "x.yaml", id="yaml"
        ),
        pytest.param(lambda repo: (repo / "web").rename(repo / "other"), "'web'", id="no folder"),
        pytest.param(
            lambda repo: (repo / "web" / "again.yaml").write_text(MANIFESTS),
            "twice",
            id="duplicate",
        ),
    ],
)
def test_what_cannot_be_rendered_is_named(
    with_sandbox: Gitops, repo: Path, app_file: Path, change: Any, message: str
) -> None:
    change(repo)

    ran = with_sandbox("render", "-f", app_file, "--repo", repo)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_an_application_that_makes_no_sense_is_named(
    with_sandbox: Gitops, repo: Path, tmp_path: Path
) -> None:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(app(path="../x")))

    ran = with_sandbox("render", "-f", file, "--repo", repo)

    assert ran.code == 2
    assert "leaves the repository" in ran.err


def test_something_else_than_an_application_is_refused(
    with_sandbox: Gitops, repo: Path, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"apiVersion": "v1", "kind": "ConfigMap"}')

    ran = with_sandbox("render", "-f", file, "--repo", repo)

    assert ran.code == 2
    assert "expected an Application" in ran.err


def test_plan_orders_waves_and_kinds_of_an_application(
    with_sandbox: Gitops, repo: Path, app_file: Path
) -> None:
    ran = with_sandbox("plan", "-f", app_file, "--repo", repo, "--json")

    (answer,) = ran.answers
    assert (answer["file"], answer["application"]) == (str(app_file), "argocd/web")
    steps = [
        (step["step"], step["wave"], one["kind"])
        for step in answer["steps"]
        for one in step["objects"]
    ]
    assert steps == [(1, 0, "Namespace"), (1, 0, "ConfigMap"), (2, 2, "Service")]


def test_plan_takes_plain_manifests_too(with_sandbox: Gitops, repo: Path) -> None:
    ran = with_sandbox("plan", "-f", repo / "web" / "all.yaml")

    assert ran.out.splitlines() == [
        "Step 1: Sync, wave 0",
        "  apply Namespace shop",
        "  apply ConfigMap settings",
        "Step 2: Sync, wave 2",
        "  apply Service web",
    ]


HOOK = """
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {argocd.argoproj.io/hook: PreSync}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: undo
  annotations: {argocd.argoproj.io/hook: SyncFail}
"""


@pytest.mark.parametrize("as_json", [True, False])
def test_plan_shows_hooks_as_hooks(
    with_sandbox: Gitops, repo: Path, app_file: Path, *, as_json: bool
) -> None:
    (repo / "web" / "all.yaml").write_text(MANIFESTS + HOOK)
    ran = with_sandbox("plan", "-f", app_file, "--repo", repo, *(["--json"] if as_json else []))
    if not as_json:
        assert ran.out.splitlines()[:3] == [
            "Step 1: PreSync, wave 0",
            "  apply Namespace shop",
            "  apply Job shop/migrate (hook)",
        ]
        assert ran.out.splitlines()[-1] == "Hook SyncFail: Job undo"
        return
    first = ran.answers[0]["steps"][0]
    assert (first["phase"], first["objects"][-1]["hook"]) == ("PreSync", True)
    ((hook, _),) = [answer["hooks"] for answer in ran.answers]
    assert (hook["kind"], hook["name"], hook["phases"]) == ("Job", "migrate", ["PreSync"])


@pytest.mark.parametrize("command", ["render", "plan"])
def test_a_folder_without_manifests_is_named(
    with_sandbox: Gitops, repo: Path, app_file: Path, command: str
) -> None:
    (repo / "web" / "all.yaml").rename(repo / "web" / "all.txt")
    ran = with_sandbox(command, "-f", app_file, "--repo", repo, "--json")
    assert (ran.code, len(ran.answers)) == (0, 1)
    assert "argocd/web: web holds no manifests" in ran.err


@pytest.mark.parametrize("name", [".argocd-source.yaml", ".argocd-source-web.yaml"])
def test_an_override_in_the_repository_is_merged_as_the_agent_does(
    with_sandbox: Gitops, repo: Path, app_file: Path, name: str
) -> None:
    override = repo / "web" / name
    override.write_text("directory: {exclude: '*'}\n")
    ran = with_sandbox("render", "-f", app_file, "--repo", repo, "--json")
    (answer,) = ran.answers
    assert (ran.code, answer["objects"]) == (0, []), ran.err
    override.write_text("direktory: {}\n")
    ran = with_sandbox("render", "-f", app_file, "--repo", repo, "--json")
    assert ran.code == 2
    assert f"web/{name} overrides the source" in ran.answers[0]["error"]


def test_a_repository_on_this_machine_is_taken_with_repo(
    with_sandbox: Gitops, repo: Path, tmp_path: Path
) -> None:
    file = tmp_path / "app.json"
    file.write_text(json.dumps(app(repoURL=f"file://{repo}")))
    ran = with_sandbox("render", "-f", file, "--json")
    (answer,) = ran.answers
    assert (ran.code, answer["file"], answer["application"]) == (2, str(file), "argocd/web")
    assert "--repo DIR" in answer["error"]


# --- by the rules of a project ------------------------------------------------------------------


def app_project(**rules: Any) -> dict[str, Any]:
    open_ = {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": "argocd"},
        "spec": {**open_, **rules},
    }


@pytest.fixture
def project_file(tmp_path: Path) -> Path:
    """It permits neither the repository nor a Namespace."""
    file = tmp_path / "project.json"
    rules = {"sourceRepos": ["https://other.example/*"], "clusterResourceWhitelist": []}
    file.write_text(json.dumps(app_project(**rules)))
    return file


def test_plan_says_of_each_object_what_the_agent_would_refuse(
    with_sandbox: Gitops, repo: Path, app_file: Path, project_file: Path
) -> None:
    ran = with_sandbox("plan", "-f", app_file, "-f", project_file, "--repo", repo, "--json")
    (answer,) = ran.answers
    planned = [one for step in answer["steps"] for one in step["objects"]]
    refused = {one["kind"]: one["refusals"] for one in planned}
    assert ran.code == 0, ran.err
    assert [len(refused[kind]) for kind in ("ConfigMap", "Service", "Namespace")] == [1, 1, 2]
    assert "spec.sourceRepos" in refused["ConfigMap"][0]
    assert "spec.clusterResourceWhitelist" in refused["Namespace"][1]


def test_render_says_what_the_agent_would_refuse_beside_the_objects(
    with_sandbox: Gitops, repo: Path, app_file: Path, project_file: Path
) -> None:
    ran = with_sandbox("render", "-f", project_file, "-f", app_file, "--repo", repo, "--json")
    (answer,) = ran.answers
    assert ran.code == 0, ran.err
    assert (answer["application"], len(answer["refusals"])) == ("argocd/web", 2)
    assert len(answer["objects"]) == 3
    assert ran.err.count("the agent would refuse this") == 2


@pytest.mark.parametrize("command", ["render", "plan"])
def test_nothing_is_said_where_the_project_permits_it_or_is_another(
    with_sandbox: Gitops, repo: Path, app_file: Path, tmp_path: Path, command: str
) -> None:
    other = app_project(sourceRepos=[])
    other["metadata"]["name"] = "other"
    file = tmp_path / "projects.json"
    listed = {"apiVersion": "v1", "kind": "List", "items": [app_project(), other]}
    file.write_text(json.dumps(listed))
    ran = with_sandbox(command, "-f", app_file, "-f", file, "--repo", repo, "--json")
    assert (ran.code, ran.err) == (0, "")
    (answer,) = ran.answers
    planned = [one for step in answer.get("steps", []) for one in step["objects"]]
    assert not [one for one in (answer, *planned) if one.get("refusals")]


def test_a_project_that_cannot_be_read_is_named(
    with_sandbox: Gitops, repo: Path, app_file: Path, tmp_path: Path
) -> None:
    file = tmp_path / "project.json"
    file.write_text(json.dumps(app_project(sourceRepos="*")))
    ran = with_sandbox("plan", "-f", app_file, "-f", file, "--repo", repo)
    assert ran.code == 2
    assert "sourceRepos" in ran.err
    assert "Step 1" in ran.out


def test_a_project_without_applications_is_a_manifest(
    with_sandbox: Gitops, project_file: Path
) -> None:
    ran = with_sandbox("plan", "-f", project_file)
    assert "apply AppProject argocd/default" in ran.out


# --- a folder as a tree -------------------------------------------------------------------------


def test_object_ids_of_a_folder_are_those_of_git(repo: Path) -> None:
    commit(repo)
    expected = pygit2.Repository(str(repo)).revparse_single("HEAD:web/all.yaml").id
    tree = DirectoryTree(repo)
    entry = tree.entry("web/all.yaml")

    assert entry is not None
    assert entry.oid == str(expected)
    assert tree.read(entry.oid) == MANIFESTS.encode()


def test_nothing_outside_the_folder_is_answered(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    (repo / "away").symlink_to(tmp_path)
    commit(repo)
    tree = DirectoryTree(repo)

    found = [tree.entry(path) for path in ("../secret", "away/secret", ".git/HEAD", "web/\0")]
    assert found == [None] * 4
    link = tree.entry("away")
    assert link is not None
    assert link.kind is EntryKind.SYMLINK
    assert [entry.name for entry in tree.list("")] == ["away", "web"]


def test_a_huge_file_is_refused_by_its_name(repo: Path) -> None:
    with (repo / "huge.yaml").open("wb") as out:
        out.truncate(LARGEST_FILE + 1)

    with pytest.raises(RepositoryError, match=r"huge\.yaml") as raised:
        DirectoryTree(repo).entry("huge.yaml")
    assert raised.value.reason is Reason.OUTPUT_TOO_LARGE


@pytest.mark.parametrize("command", ["render", "plan"])
def test_an_application_that_fails_does_not_stop_the_others_of_its_file(
    with_sandbox: Gitops, repo: Path, tmp_path: Path, command: str
) -> None:
    file = tmp_path / "apps.json"
    listed = {"apiVersion": "v1", "kind": "List", "items": [app(path="absent"), app()]}
    file.write_text(json.dumps(listed))

    ran = with_sandbox(command, "-f", file, "--repo", repo, "--json")

    assert ran.code == 2
    assert "no folder 'absent'" in ran.err
    bad, good = ran.answers
    assert (bad["document"], bad["application"]) == (1, "argocd/web")
    objects = good.get("objects") or [one for step in good["steps"] for one in step["objects"]]
    assert sorted(each["kind"] for each in objects) == ["ConfigMap", "Namespace", "Service"]
