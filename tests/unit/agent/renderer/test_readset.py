"""A read set is true for another commit exactly if the render would look the same there."""

from pathlib import Path

import pytest

from agent.renderer.renderer import SandboxRenderer
from handlers.render.read_set import EscapedPathError, holds, keys_touched, locate
from sandbox.client import Sandbox
from tests.unit.agent.renderer.recipe_samples import directory, kustomize
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
REPOSITORY: dict[str, str | bytes | TreeLink] = {
    "app/kustomization.yaml": "resources: [../base, linked]\n",
    "app/linked": TreeLink("../shared"),
    "app/README.md": "words",
    "base/kustomization.yaml": "resources: [x.yaml]\n",
    "base/x.yaml": CONFIG,
    "shared/kustomization.yaml": "resources: [real.yaml]\n",
    "shared/real.yaml": CONFIG.replace("name: x", "name: real"),
    "other/app.yaml": CONFIG,
}


@pytest.mark.parametrize(
    ("change", "still"),
    [
        ({"other/app.yaml": "changed"}, True),
        ({"app/README.md": "changed"}, True),
        ({"app/new.txt": "new"}, True),
        ({"base/x.yaml": CONFIG + "data: {}"}, False),
        ({"shared/real.yaml": CONFIG + "data: {}"}, False),
        ({"app/linked": TreeLink("../other")}, False),
        ({"app/kustomization.yaml": "resources: []"}, False),
        ({"base": "a file now"}, False),
    ],
    ids=["elsewhere", "unread", "new", "base", "link-target", "link", "itself", "folder-gone"],
)
async def test_a_render_depends_on_what_it_read(
    sandbox_binary: Path, change: dict[str, str | bytes | TreeLink], *, still: bool
) -> None:
    async with Sandbox(sandbox_binary) as sandbox:
        rendered = await SandboxRenderer(sandbox).render(kustomize(), WrittenTree(REPOSITORY))
    kept = {
        path: text
        for path, text in REPOSITORY.items()
        if not any(path.startswith(f"{changed}/") for changed in change)
    }
    assert holds(rendered.read_set, WrittenTree(REPOSITORY))
    assert holds(rendered.read_set, WrittenTree(kept | change)) is still


@pytest.mark.parametrize(
    ("change", "still"),
    [
        ({"app/sub/new.yaml": CONFIG}, False),
        ({"app/sub/x.yaml": CONFIG + "data: {}"}, False),
        ({"app/notes.txt": "changed"}, True),
        ({"other/x.yaml": CONFIG}, True),
    ],
    ids=["new-file", "changed-file", "unread", "elsewhere"],
)
async def test_a_folder_of_manifests_depends_on_its_names(
    sandbox: Sandbox, change: dict[str, str], *, still: bool
) -> None:
    files = {"app/sub/x.yaml": CONFIG, "app/notes.txt": "words"}
    rendered = await SandboxRenderer(sandbox).render(directory(recurse=True), WrittenTree(files))
    assert holds(rendered.read_set, WrittenTree(files | change)) is still


async def test_a_file_that_was_missed_is_part_of_the_read_set(sandbox: Sandbox) -> None:
    files = {"app/kustomization.yml": "resources: [x.yaml]\n", "app/x.yaml": CONFIG}
    rendered = await SandboxRenderer(sandbox).render(kustomize(), WrittenTree(files))
    assert rendered.read_set["app/kustomization.yaml"] == ""
    assert not holds(rendered.read_set, WrittenTree(files | {"app/kustomization.yaml": "{}"}))


def test_locate_follows_links_of_files_and_folders() -> None:
    tree = WrittenTree({"a/b": TreeLink("../c"), "c/d": TreeLink("e"), "c/e": "text"})
    place = locate(tree, "a/b/d")
    assert (place.path, place.kind, place.links) == ("c/e", "blob", ("a/b", "c/d"))
    assert locate(tree, "a/b/nothing").kind == ""


@pytest.mark.parametrize("target", ["/etc/passwd", "../..", "../../etc", "b/../../../x"])
def test_locate_refuses_to_leave_the_repository(target: str) -> None:
    with pytest.raises(EscapedPathError, match="a/link leads out of the repository"):
        locate(WrittenTree({"a/link": TreeLink(target)}), "a/link")


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x"])
def test_locate_refuses_a_path_that_leads_out(path: str) -> None:
    with pytest.raises(EscapedPathError):
        locate(WrittenTree({"a": "text"}), path)


@pytest.mark.parametrize("path", ["/a", "/etc/passwd", "a\0b", "a/b/c"])
def test_locate_finds_nothing_where_no_file_can_be(path: str) -> None:
    assert locate(WrittenTree({"a": "text"}), path).kind == ""


def test_locate_ends_in_a_ring_of_links() -> None:
    assert locate(WrittenTree({"a": TreeLink("b"), "b": TreeLink("a")}), "a").kind == ""


def test_keys_touched_are_the_file_and_its_folders() -> None:
    assert keys_touched("a/b/c") == ("a/b/c", "a/b", "a/b/", "a", "a/", "", "/")
