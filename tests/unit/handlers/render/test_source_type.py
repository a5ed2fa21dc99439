"""What a folder is, and what the decision looked at."""

import pytest
from msgspec.structs import replace

from bus.status import Reason
from handlers.application.spec import DirectorySource, HelmSource, KustomizeSource, Source
from handlers.ports.rendering import RenderError, SourceType
from handlers.render.read_set import holds
from handlers.render.source_type import detect, folder_of, looked_for, override_files
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree


def source(path: str = "web") -> Source:
    return Source(repo_url="https://git.example/x", path=path)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("Chart.yaml", "kustomization.yaml"), SourceType.HELM),
        (("kustomization.yml",), SourceType.KUSTOMIZE),
        (("Kustomization",), SourceType.KUSTOMIZE),
        (("a.yaml",), SourceType.DIRECTORY),
    ],
    ids=["a chart wins", "kustomization.yml", "Kustomization", "plain"],
)
def test_the_files_decide(names: tuple[str, ...], found: SourceType) -> None:
    tree = WrittenTree({f"web/{name}": "" for name in names})
    assert detect(source(), "web", tree) is found


@pytest.mark.parametrize("name", ["Kustomization", "kustomization.yaml", "Chart.yaml"])
def test_a_folder_of_such_a_name_decides_nothing(name: str) -> None:
    tree = WrittenTree({f"web/{name}/a.yaml": "", f"web/.argocd-source.yaml/{name}": ""})
    assert detect(source(), "web", tree) is SourceType.DIRECTORY
    assert not override_files("web", "web", tree)


@pytest.mark.parametrize(
    ("block", "found"),
    [
        ({"helm": HelmSource()}, SourceType.HELM),
        ({"kustomize": KustomizeSource()}, SourceType.KUSTOMIZE),
        ({"directory": DirectorySource()}, SourceType.DIRECTORY),
    ],
    ids=["helm", "kustomize", "directory"],
)
def test_an_explicit_block_wins(block: dict[str, object], found: SourceType) -> None:
    tree = WrittenTree({"web/Chart.yaml": "", "web/kustomization.yaml": ""})
    assert detect(replace(source(), **block), "web", tree) is found


def test_a_disabled_tool_renders_nothing() -> None:
    tree = WrittenTree({"web/Chart.yaml": "", "web/kustomization.yaml": ""})
    chart = replace(source(), helm=HelmSource())
    assert detect(source(), "web", tree, {"Helm"}) is SourceType.KUSTOMIZE
    assert detect(source(), "web", tree, {"Helm", "Kustomize"}) is SourceType.DIRECTORY
    assert detect(chart, "web", tree, {"Helm"}) is SourceType.DIRECTORY


@pytest.mark.parametrize("path", ["web", "./web/", "web/."])
def test_a_folder_has_one_spelling(path: str) -> None:
    assert folder_of(source(path), WrittenTree({"web/a": ""})) == "web"


def test_the_root_is_a_folder() -> None:
    assert folder_of(source("."), WrittenTree({"a": ""})) == ""


def test_a_missing_folder_names_what_is_there() -> None:
    tree = WrittenTree({"apps/web/a": "", "apps/api/a": ""})
    with pytest.raises(RenderError, match="apps has the folders web, api") as caught:
        folder_of(source("apps/weeb"), tree)
    assert caught.value.reason is Reason.PATH_NOT_FOUND


def test_a_link_out_of_the_repository_is_refused() -> None:
    with pytest.raises(RenderError) as caught:
        folder_of(source("web"), WrittenTree({"web": TreeLink("../../etc")}))
    assert caught.value.reason is Reason.OUTSIDE_REPOSITORY


@pytest.mark.parametrize("name", ["Chart.yaml", "kustomization.yaml", ".argocd-source-shop.yaml"])
def test_a_file_that_appears_makes_the_decision_untrue(name: str) -> None:
    files = {"web/a.yaml": "", "README": ""}
    seen = looked_for(source(), "web", "shop", WrittenTree(files))
    assert holds(seen, WrittenTree(files | {"web/b.yaml": "", "README": "new"}))
    assert not holds(seen, WrittenTree(files | {f"web/{name}": ""}))


def test_override_files_of_this_application_only() -> None:
    tree = WrittenTree({"web/.argocd-source-other.yaml": ""})
    assert override_files("web", "shop", tree) == ()
    (found,) = override_files("web", "other", tree)
    assert found.path == "web/.argocd-source-other.yaml"
