from typing import Any

import pytest
from msgspec.structs import replace

from agent.renderer.renderer import SandboxRenderer
from handlers.application.tool_settings import BuildOptions
from handlers.ports.rendering import RenderError
from tests.unit.agent.renderer.recipe_samples import kustomize, names, objects
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
"""
BASE = {
    "base/kustomization.yaml": "resources: [deployment.yaml]\n",
    "base/deployment.yaml": DEPLOYMENT,
}


async def test_an_overlay_builds_on_a_base_outside_its_folder(renderer: SandboxRenderer) -> None:
    overlay = """
        resources: [../base]
        namePrefix: prod-
        configMapGenerator: [{name: c, literals: [a=b], files: [note.txt]}]
        patches: [{path: patch.yaml}]
    """
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 7}\n"
    files = BASE | {
        "app/kustomization.yaml": overlay,
        "app/patch.yaml": patch,
        "app/note.txt": "hi",
    }
    rendered = await renderer.render(kustomize(), WrittenTree(files))
    assert sorted(name.split("-")[0] for name in names(rendered)) == [
        "ConfigMap/prod",
        "Deployment/prod",
    ]
    deployment = next(one for one in objects(rendered) if one["kind"] == "Deployment")
    assert deployment["spec"]["replicas"] == 7
    assert "base/deployment.yaml" in rendered.read_set


async def override(
    renderer: SandboxRenderer, kustomization: str = "", **fields: Any
) -> dict[str, Any]:
    files = {
        "app/kustomization.yaml": "resources: [deployment.yaml]\n" + kustomization,
        "app/deployment.yaml": DEPLOYMENT,
        "extra/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\n"
        "kind: Component\ncommonAnnotations: {extra: here}\n",
    }
    (seen,) = objects(await renderer.render(kustomize(**fields), WrittenTree(files)))
    return seen


async def test_an_application_overrides_names_namespace_and_replicas(
    renderer: SandboxRenderer,
) -> None:
    seen = await override(
        renderer,
        "namePrefix: old-\nreplicas: [{name: web, count: 2}]\n",
        namePrefix="a-",
        nameSuffix="-z",
        namespace="prod",
        replicas=[{"name": "web", "count": "5"}],
    )
    assert seen["metadata"]["name"] == "a-web-z"
    assert seen["metadata"]["namespace"] == "prod"
    assert seen["spec"]["replicas"] == 5


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nginx:2", "nginx:2"),
        ("nginx=registry:5000/mine:3", "registry:5000/mine:3"),
        ("nginx=mine", "mine:1"),
        ("nginx@sha256:abc", "nginx@sha256:abc"),
        ("other:2", "nginx:1"),
    ],
)
async def test_an_application_overrides_images(
    renderer: SandboxRenderer, image: str, expected: str
) -> None:
    seen = await override(renderer, images=[image])
    assert seen["spec"]["template"]["spec"]["containers"][0]["image"] == expected


async def test_labels_go_into_selectors_unless_told_otherwise(renderer: SandboxRenderer) -> None:
    seen = await override(renderer, commonLabels={"team": "x"})
    assert seen["spec"]["selector"]["matchLabels"] == {"app": "web", "team": "x"}
    seen = await override(
        renderer, commonLabels={"team": "x"}, labelWithoutSelector=True, labelIncludeTemplates=True
    )
    assert seen["metadata"]["labels"] == {"team": "x"}
    assert seen["spec"]["selector"]["matchLabels"] == {"app": "web"}
    assert seen["spec"]["template"]["metadata"]["labels"] == {"app": "web", "team": "x"}


async def test_a_label_that_is_there_is_overridden_only_by_force(renderer: SandboxRenderer) -> None:
    with pytest.raises(RenderError, match="team is already in the kustomization"):
        await override(renderer, "commonLabels: {team: old}\n", commonLabels={"team": "x"})
    seen = await override(
        renderer,
        "commonLabels: {team: old}\n",
        commonLabels={"team": "x"},
        forceCommonLabels=True,
        commonAnnotations={"note": "n"},
    )
    assert seen["metadata"]["labels"] == {"team": "x"}
    assert seen["metadata"]["annotations"] == {"note": "n"}


async def test_an_application_adds_patches_and_components(renderer: SandboxRenderer) -> None:
    seen = await override(
        renderer,
        patches=[
            {
                "target": {"kind": "Deployment"},
                "patch": "- {op: replace, path: /spec/replicas, value: 9}",
            }
        ],
        components=["../extra", "../missing"],
        ignoreMissingComponents=True,
    )
    assert seen["spec"]["replicas"] == 9
    assert seen["metadata"]["annotations"] == {"extra": "here"}


@pytest.mark.parametrize(
    "base",
    [
        "https://github.com/org/repo//base?ref=v1",
        "github.com/org/repo/base",
        "git@github.com:org/repo.git",
        "https://example.org/deployment.yaml",
        "ssh://git:secret@example.org/x",
    ],
)
async def test_a_remote_base_is_refused_with_the_remedy(
    renderer: SandboxRenderer, base: str
) -> None:
    files = BASE | {"app/kustomization.yaml": f"resources: [../base, '{base}']\n"}
    with pytest.raises(RenderError) as caught:
        await renderer.render(kustomize(), WrittenTree(files))
    assert caught.value.reason == "RemoteBase"
    assert "copy it into the repository" in caught.value.message
    assert "secret" not in caught.value.message
    assert caught.value.file == "app/kustomization.yaml"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"app/kustomization.yaml": "resources: [../../..]"}, "OutsideRepository"),
        ({"app/kustomization.yaml": "resources: [../../../etc/passwd]"}, "OutsideRepository"),
        (
            {"app/kustomization.yaml": "resources: [x]", "app/x": TreeLink("/etc")},
            "OutsideRepository",
        ),
        ({"app/kustomization.yaml": "resources: [gone.yaml]"}, "FileNotFound"),
        ({"app/kustomization.yaml": "resourcez: []"}, "KustomizeFailed"),
        ({"app/deployment.yaml": DEPLOYMENT}, "KustomizeFailed"),
        (
            {
                "app/kustomization.yaml": "configMapGenerator:\n"
                "- {name: x, files: ['https://example.org/x']}"
            },
            "RemoteBase",
        ),
    ],
    ids=["up", "up-file", "link", "gone", "unknown-field", "no-kustomization", "remote-file"],
)
async def test_what_cannot_be_built_says_why(
    renderer: SandboxRenderer, files: dict[str, Any], reason: str
) -> None:
    with pytest.raises(RenderError) as caught:
        await renderer.render(kustomize(), WrittenTree(files))
    assert caught.value.reason == reason


async def test_a_broken_resource_names_its_file(renderer: SandboxRenderer) -> None:
    files = {
        "app/kustomization.yaml": "resources: [x.yaml]",
        "app/x.yaml": "apiVersion: v1\nkind: X\na: b: c\n",
    }
    with pytest.raises(RenderError) as caught:
        await renderer.render(kustomize(), WrittenTree(files))
    assert (caught.value.reason, caught.value.file, caught.value.line) == (
        "YamlInvalid",
        "app/x.yaml",
        3,
    )


FROM_ABOVE = {
    "shared.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\n",
    "app/kustomization.yaml": "resources: [../shared.yaml, ns.yaml]\n",
    "app/ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n",
}


async def test_build_options_let_files_of_the_repository_be_used_from_above(
    renderer: SandboxRenderer,
) -> None:
    with pytest.raises(RenderError, match=r"shared\.yaml"):
        await renderer.render(kustomize(), WrittenTree(FROM_ABOVE))
    build = BuildOptions(load_restrictor="none", reorder="legacy", managed_by_label=True)
    recipe = replace(kustomize(), build=build)
    rendered = await renderer.render(recipe, WrittenTree(FROM_ABOVE))
    assert names(rendered) == ["Namespace/n", "ConfigMap/shared"]
    labels = objects(rendered)[1]["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"].startswith("kustomize")
    assert "shared.yaml" in rendered.read_set


async def test_build_options_lead_to_nothing_outside_of_the_repository(
    renderer: SandboxRenderer,
) -> None:
    files = {"app/kustomization.yaml": "resources: [../../../../etc/hostname]\n"}
    recipe = replace(kustomize(), build=BuildOptions(load_restrictor="none"))
    with pytest.raises(RenderError):
        await renderer.render(recipe, WrittenTree(files))
