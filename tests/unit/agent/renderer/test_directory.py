from typing import Any

import pytest
from msgspec.structs import replace

from agent.renderer.renderer import SandboxRenderer
from handlers.ports.rendering import RecordedOrigin, RenderError
from tests.unit.agent.renderer.recipe_samples import directory, names, objects
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


async def test_documents_and_lists_become_objects_with_their_origin(
    renderer: SandboxRenderer,
) -> None:
    files: dict[str, str | bytes | TreeLink] = {
        "app/b.yml": "---\n# nothing\n---\n" + CONFIG % "one" + "--- # next\n" + CONFIG % "two",
        "app/a.json": b'{"kind":"List","apiVersion":"v1","items":['
        b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}]}',
    }
    rendered = await renderer.render(directory(), WrittenTree(files))
    assert names(rendered) == ["Secret/s", "ConfigMap/one", "ConfigMap/two"]
    assert rendered.origins == (
        RecordedOrigin("app/a.json", 1),
        RecordedOrigin("app/b.yml", 2),
        RecordedOrigin("app/b.yml", 3),
    )


async def test_yaml_is_read_as_kubernetes_reads_it(renderer: SandboxRenderer) -> None:
    text = CONFIG % "x" + "data: {a: on, b: 'on', c: 014, d: 2001-01-01, e: 9007199254740993}\n"
    (seen,) = objects(await renderer.render(directory(), WrittenTree({"app/x.yaml": text})))
    assert seen["data"] == {
        "a": True,
        "b": "on",
        "c": 12,
        "d": "2001-01-01",
        "e": 9007199254740993,
    }


async def test_a_json_number_keeps_every_digit(renderer: SandboxRenderer) -> None:
    text = b'{"apiVersion":"v1","kind":"X","n":123456789012345678901234567890}'
    rendered = await renderer.render(directory(), WrittenTree({"app/x.json": text}))
    assert b"123456789012345678901234567890" in rendered.objects[0]


async def test_a_yaml_error_names_file_document_and_line(renderer: SandboxRenderer) -> None:
    text = CONFIG % "good" + "---\napiVersion: v1\nkind: X\nmetadata: {name: a}\nspec:\n  a: b: c\n"
    with pytest.raises(RenderError) as caught:
        await renderer.render(directory(), WrittenTree({"app/x.yaml": text}))
    error = caught.value
    assert (error.reason, error.file, error.document, error.line) == (
        "YamlInvalid",
        "app/x.yaml",
        2,
        9,
    )
    assert "app/x.yaml, document 2" in error.message


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("a: b: c", id="broken"),
        pytest.param("- a\n", id="list"),
        pytest.param("words\n", id="text"),
        pytest.param("replicas: 3\n", id="no-kind"),
        pytest.param("kind: {}\n", id="odd-kind"),
        pytest.param(TreeLink("nowhere.yaml"), id="dangling"),
        pytest.param(TreeLink("values.yaml"), id="circular"),
        pytest.param("{}", id="empty-object"),
        pytest.param(b"\xfe\xff\x00k\x00", id="half-utf-16"),
        pytest.param(b"kind: A\0", id="nul"),
    ],
)
async def test_a_file_that_holds_no_object_is_refused_by_its_name(
    renderer: SandboxRenderer, written: str | bytes | TreeLink
) -> None:
    tree = WrittenTree({"app/values.yaml": written, "app/x.yaml": CONFIG % "x"})
    with pytest.raises(RenderError) as caught:
        await renderer.render(directory(), tree)
    assert caught.value.file == "app/values.yaml"
    assert "app/values.yaml" in caught.value.message
    assert "spec.source.directory.exclude" in caught.value.message
    made = await renderer.render(directory(exclude="values.yaml"), tree)
    assert names(made) == ["ConfigMap/x"]


async def test_a_file_with_nothing_but_comments_holds_nothing(renderer: SandboxRenderer) -> None:
    tree = WrittenTree({"app/a.yaml": "# later\n---\n# also later\n", "app/x.yaml": CONFIG % "x"})
    assert names(await renderer.render(directory(), tree)) == ["ConfigMap/x"]


async def test_a_link_to_a_folder_is_passed_over(renderer: SandboxRenderer) -> None:
    tree = WrittenTree(
        {"app/a.yaml": TreeLink("sub"), "app/sub/b.txt": "b", "app/x.yaml": CONFIG % "x"}
    )
    assert names(await renderer.render(directory(), tree)) == ["ConfigMap/x"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
async def test_every_document_is_read_in_any_encoding(
    renderer: SandboxRenderer, encoding: str
) -> None:
    text = "---\n".join(CONFIG % name for name in "abc")
    tree = WrittenTree({"app/x.yaml": text.encode(encoding)})
    assert names(await renderer.render(directory(), tree)) == [
        f"ConfigMap/{name}" for name in "abc"
    ]


async def test_a_list_whose_items_are_null_is_empty(renderer: SandboxRenderer) -> None:
    text = "apiVersion: v1\nkind: ConfigMapList\nitems: null\n---\n" + CONFIG % "x"
    tree = WrittenTree({"app/x.yaml": text})
    assert names(await renderer.render(directory(), tree)) == ["ConfigMap/x"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["top"]),
        ({"recurse": True}, ["deep", "test", "top"]),
        ({"recurse": True, "exclude": "{sub/*,x}"}, ["top"]),
        ({"recurse": True, "include": "*test*"}, ["test"]),
    ],
    ids=["flat", "recurse", "exclude", "include"],
)
async def test_recurse_include_exclude(
    renderer: SandboxRenderer, fields: dict[str, Any], expected: list[str]
) -> None:
    files = {
        "app/top.yaml": CONFIG % "top",
        "app/sub/deep.yaml": CONFIG % "deep",
        "app/sub/test.yaml": CONFIG % "test",
        "app/note.txt": "no",
        "app/skipped.yaml": "# +argocd:skip-file-rendering\n" + CONFIG % "skipped",
    }
    rendered = await renderer.render(directory(**fields), WrittenTree(files))
    assert [one["metadata"]["name"] for one in objects(rendered)] == expected


async def test_jsonnet_files_take_variables_and_libraries(renderer: SandboxRenderer) -> None:
    files = {
        "lib/make.libsonnet": "{ make(n):: {apiVersion:'v1', kind:'X', metadata:{name:n}} }",
        "app/main.jsonnet": "local m = import 'make.libsonnet';"
        "function(second) [m.make(std.extVar('first')), m.make(second)]",
    }
    jsonnet = {
        "extVars": [{"name": "first", "value": "a"}],
        "tlas": [{"name": "second", "value": "'b' + 'c'", "code": True}],
        "libs": ["lib"],
    }
    rendered = await renderer.render(directory(jsonnet=jsonnet), WrittenTree(files))
    assert names(rendered) == ["X/a", "X/bc"]


async def test_a_missing_folder_is_told_apart(renderer: SandboxRenderer) -> None:
    with pytest.raises(RenderError) as caught:
        await renderer.render(directory("nowhere"), WrittenTree({"app/x.yaml": ""}))
    assert caught.value.reason == "PathNotFound"


async def test_a_link_out_of_the_repository_is_refused(renderer: SandboxRenderer) -> None:
    tree = WrittenTree({"app/x.yaml": CONFIG % "x", "app/y.yaml": TreeLink("../../etc/passwd")})
    with pytest.raises(RenderError) as caught:
        await renderer.render(directory(), tree)
    assert caught.value.reason == "OutsideRepository"
    assert "app/y.yaml" in caught.value.message


async def test_a_link_inside_the_repository_is_followed(renderer: SandboxRenderer) -> None:
    tree = WrittenTree({"app/y.yaml": TreeLink("../shared/x.yaml"), "shared/x.yaml": CONFIG % "x"})
    rendered = await renderer.render(directory(), tree)
    assert names(rendered) == ["ConfigMap/x"]
    assert {"app/y.yaml", "shared/x.yaml"} <= rendered.read_set.keys()


async def test_a_path_out_of_the_repository_is_refused(renderer: SandboxRenderer) -> None:
    with pytest.raises(RenderError) as caught:
        await renderer.render(directory("../../.."), WrittenTree({"app/x.yaml": ""}))
    assert caught.value.reason == "OutsideRepository"


async def test_jsonnet_files_are_passed_over_where_jsonnet_is_switched_off(
    renderer: SandboxRenderer,
) -> None:
    files = {"app/a.jsonnet": "error 'evaluated'", "app/b.yaml": CONFIG % "one"}
    with pytest.raises(RenderError, match="evaluated"):
        await renderer.render(directory(), WrittenTree(files))
    rendered = await renderer.render(replace(directory(), skip_jsonnet=True), WrittenTree(files))
    assert names(rendered) == ["ConfigMap/one"]
