"""What goes with a request is what would be asked, no more: the read set stays what it was."""

from pathlib import Path

import pytest

from agent.renderer.foresight import MAX_BYTES, MAX_FILES, certain
from agent.renderer.renderer import SandboxRenderer
from handlers.ports import CommitTree
from handlers.ports.rendering import Recipe, RenderError
from sandbox.client import Sandbox, SandboxLimits
from tests.unit.agent.renderer.recipe_samples import directory, helm, kustomize, names
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
FILES: dict[str, str | bytes | TreeLink] = {
    "app/b.yaml": CONFIG,
    "app/a.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}',
    "app/notes.txt": "words",
    "app/link.yaml": TreeLink("../other/c.yml"),
    "app/sub/d.yaml": CONFIG,
    "other/c.yml": CONFIG,
}


def asked(recipe: Recipe, tree: CommitTree) -> list[str]:
    return [f"{one.ask} {one.path}" for one in certain(recipe, tree)]


def test_a_folder_is_looked_at_listed_and_its_manifests_are_read() -> None:
    found = asked(directory(), WrittenTree(FILES))

    assert found[:2] == ["stat app", "list app"]
    assert sorted(found[2:]) == ["read app/a.json", "read app/b.yaml"]


@pytest.mark.parametrize(
    "recipe",
    [
        directory(include="a*"),
        directory(exclude="b.yaml"),
        directory(path="nowhere"),
        directory(path="app/b.yaml"),
        directory(path="app/../app"),
        directory(path="/app"),
        kustomize(),
        helm(path="app"),
    ],
    ids=["include", "exclude", "nowhere", "a-file", "unclean", "absolute", "kustomize", "helm"],
)
def test_what_is_not_certain_is_not_foreseen(recipe: Recipe) -> None:
    assert asked(recipe, WrittenTree(FILES)) == []


@pytest.mark.parametrize(
    "files",
    [
        {f"app/{number}.yaml": CONFIG for number in range(MAX_FILES + 1)},
        {"app/x.yaml": "#" * (MAX_BYTES + 1)},
    ],
    ids=["many", "large"],
)
def test_a_large_folder_is_asked_for_file_by_file(files: dict[str, str]) -> None:
    assert asked(directory(), WrittenTree(files)) == ["stat app", "list app"]


@pytest.mark.parametrize("recurse", [False, True])
async def test_the_read_set_is_the_one_of_a_worker_that_asks(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, *, recurse: bool
) -> None:
    recipe, tree = directory(recurse=recurse), WrittenTree(FILES)
    foreseen = await SandboxRenderer(sandbox).render(recipe, tree)
    monkeypatch.setattr("agent.renderer.renderer.certain", lambda _recipe, _tree: ())
    first = await SandboxRenderer(sandbox).render(recipe, tree)

    assert foreseen == first
    assert names(foreseen) == ["ConfigMap/a", "ConfigMap/x", "ConfigMap/x"] + recurse * [
        "ConfigMap/x"
    ]


async def test_the_limits_hold_for_what_was_foreseen(sandbox_binary: Path) -> None:
    tight = SandboxLimits(workers=1, input_bytes=1000)
    files = {f"app/{number}.yaml": CONFIG + "# " + "x" * 300 for number in range(5)}
    async with Sandbox(sandbox_binary, tight) as sandbox:
        with pytest.raises(RenderError) as caught:
            await SandboxRenderer(sandbox).render(directory(), WrittenTree(files))

    assert caught.value.reason == "OutputTooLarge"  # our reason for too much of anything
