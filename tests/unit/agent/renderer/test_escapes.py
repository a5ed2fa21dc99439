"""Links of a repository, which the agent follows for the worker: none leads out of the commit."""

import pytest

from agent.renderer.renderer import SandboxRenderer
from handlers.ports.rendering import Recipe, RenderError
from tests.unit.agent.renderer.recipe_samples import directory, helm, kustomize
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree

TARGETS = [
    "/etc/passwd",
    "/",
    "../../../../etc/passwd",
    "../..",
    "./../../../etc/passwd",
    "sub/../../../etc/passwd",
    "//etc/passwd",
    "out",
]
"""Where a link may lead; `out` is another link, which leads out in its turn."""
CHART = "apiVersion: v2\nname: x\nversion: 1.0.0\n"
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
Files = dict[str, str | bytes | TreeLink]


def jsonnet(link: str) -> tuple[Recipe, Files]:
    return directory(), {"app/x.jsonnet": f"importstr '{link}'"}


def kustomization(link: str) -> tuple[Recipe, Files]:
    return kustomize(), {"app/kustomization.yaml": f"resources: ['{link}']"}


def generator(link: str) -> tuple[Recipe, Files]:
    text = f"configMapGenerator: [{{name: x, files: ['k={link}']}}]"
    return kustomize(), {"app/kustomization.yaml": text}


def template(link: str) -> tuple[Recipe, Files]:
    files: Files = {
        "chart/Chart.yaml": CHART,
        f"chart/templates/{link}.yaml": TreeLink("../../app/link"),
    }
    return helm(), files


def dependency(link: str) -> tuple[Recipe, Files]:
    files: Files = {"chart/Chart.yaml": CHART, f"chart/charts/{link}": TreeLink("../../app/link")}
    return helm(), files | {"chart/templates/x.yaml": OBJECT}


def values(link: str) -> tuple[Recipe, Files]:
    files: Files = {"chart/Chart.yaml": CHART, "chart/templates/x.yaml": OBJECT}
    return helm(valueFiles=[f"../app/{link}"]), files


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "use",
    [jsonnet, kustomization, generator, template, dependency, values],
    ids=lambda f: f.__name__,
)
async def test_a_link_out_of_the_commit_is_followed_by_nothing(
    renderer: SandboxRenderer, use: object, target: str
) -> None:
    recipe, files = use("link")  # type: ignore[operator]
    tree: Files = {
        "app/link": TreeLink(target),
        "app/out": TreeLink("../../../etc/passwd"),
        "app/sub/x": "",
    }
    with pytest.raises(RenderError) as caught:
        await renderer.render(recipe, WrittenTree(files | tree))
    assert caught.value.reason in ("OutsideRepository", "PathNotFound")


@pytest.mark.parametrize(
    "use", [jsonnet, kustomization, template, values], ids=lambda f: f.__name__
)
async def test_links_in_a_circle_end(renderer: SandboxRenderer, use: object) -> None:
    recipe, files = use("link")  # type: ignore[operator]
    tree: Files = {"app/link": TreeLink("other"), "app/other": TreeLink("link")}
    with pytest.raises(RenderError):
        await renderer.render(recipe, WrittenTree(files | tree))
