from typing import Any

import pytest

from agent.sandbox import Sandbox
from handlers.render.recipe import Origin, RenderError
from tests.sandbox.recipes import directory, names, objects
from tests.sandbox.trees import Link, WrittenTree

pytestmark = pytest.mark.flow

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


async def test_documents_and_lists_become_objects_with_their_origin(sandbox: Sandbox) -> None:
    files: dict[str, str | bytes | Link] = {
        "app/b.yml": "---\n# nothing\n---\n" + CONFIG % "one" + "--- # next\n" + CONFIG % "two",
        "app/a.json": b'{"kind":"List","apiVersion":"v1","items":['
        b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}]}',
    }
    rendered = await sandbox.render(directory(), WrittenTree(files))
    assert names(rendered) == ["Secret/s", "ConfigMap/one", "ConfigMap/two"]
    assert rendered.origins == (
        Origin("app/a.json", 1),
        Origin("app/b.yml", 2),
        Origin("app/b.yml", 3),
    )


async def test_yaml_is_read_as_kubernetes_reads_it(sandbox: Sandbox) -> None:
    text = CONFIG % "x" + "data: {a: on, b: 'on', c: 014, d: 2001-01-01, e: 9007199254740993}\n"
    (seen,) = objects(await sandbox.render(directory(), WrittenTree({"app/x.yaml": text})))
    assert seen["data"] == {
        "a": True,
        "b": "on",
        "c": 12,
        "d": "2001-01-01",
        "e": 9007199254740993,
    }


async def test_a_json_number_keeps_every_digit(sandbox: Sandbox) -> None:
    text = b'{"apiVersion":"v1","kind":"X","n":123456789012345678901234567890}'
    rendered = await sandbox.render(directory(), WrittenTree({"app/x.json": text}))
    assert b"123456789012345678901234567890" in rendered.objects[0]


async def test_a_yaml_error_names_file_document_and_line(sandbox: Sandbox) -> None:
    text = CONFIG % "good" + "---\napiVersion: v1\nkind: X\nmetadata: {name: a}\nspec:\n  a: b: c\n"
    with pytest.raises(RenderError) as caught:
        await sandbox.render(directory(), WrittenTree({"app/x.yaml": text}))
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
    ["a: b: c", "- a\n", "words\n", "replicas: 3\n", "kind: {}\n", Link("nowhere.yaml")]
    + [Link("values.yaml"), "{}", b"\xfe\xff\x00k\x00", b"kind: A\0"],
    ids=["broken", "list", "text", "no-kind", "odd-kind", "dangling", "circular", "empty-object"]
    + ["half-utf-16", "nul"],
)
async def test_a_file_that_holds_no_object_is_refused_by_its_name(
    sandbox: Sandbox, written: str | bytes | Link
) -> None:
    tree = WrittenTree({"app/values.yaml": written, "app/x.yaml": CONFIG % "x"})
    with pytest.raises(RenderError) as caught:
        await sandbox.render(directory(), tree)
    assert caught.value.file == "app/values.yaml"
    assert "app/values.yaml" in caught.value.message
    assert "spec.source.directory.exclude" in caught.value.message
    made = await sandbox.render(directory(exclude="values.yaml"), tree)
    assert names(made) == ["ConfigMap/x"]


async def test_a_file_with_nothing_but_comments_holds_nothing(sandbox: Sandbox) -> None:
    tree = WrittenTree({"app/a.yaml": "# later\n---\n# also later\n", "app/x.yaml": CONFIG % "x"})
    assert names(await sandbox.render(directory(), tree)) == ["ConfigMap/x"]


async def test_a_link_to_a_folder_is_passed_over(sandbox: Sandbox) -> None:
    tree = WrittenTree({"app/a.yaml": Link("sub"), "app/sub/b.txt": "b", "app/x.yaml": CONFIG % "x"})
    assert names(await sandbox.render(directory(), tree)) == ["ConfigMap/x"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
async def test_every_document_is_read_in_any_encoding(sandbox: Sandbox, encoding: str) -> None:
    text = "---\n".join(CONFIG % name for name in "abc")
    tree = WrittenTree({"app/x.yaml": text.encode(encoding)})
    assert names(await sandbox.render(directory(), tree)) == [f"ConfigMap/{name}" for name in "abc"]


async def test_a_list_whose_items_are_null_is_empty(sandbox: Sandbox) -> None:
    text = "apiVersion: v1\nkind: ConfigMapList\nitems: null\n---\n" + CONFIG % "x"
    tree = WrittenTree({"app/x.yaml": text})
    assert names(await sandbox.render(directory(), tree)) == ["ConfigMap/x"]


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
    sandbox: Sandbox, fields: dict[str, Any], expected: list[str]
) -> None:
    files = {
        "app/top.yaml": CONFIG % "top",
        "app/sub/deep.yaml": CONFIG % "deep",
        "app/sub/test.yaml": CONFIG % "test",
        "app/note.txt": "no",
        "app/skipped.yaml": "# +argocd:skip-file-rendering\n" + CONFIG % "skipped",
    }
    rendered = await sandbox.render(directory(**fields), WrittenTree(files))
    assert [one["metadata"]["name"] for one in objects(rendered)] == expected


async def test_jsonnet_files_take_variables_and_libraries(sandbox: Sandbox) -> None:
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
    rendered = await sandbox.render(directory(jsonnet=jsonnet), WrittenTree(files))
    assert names(rendered) == ["X/a", "X/bc"]


async def test_a_missing_folder_is_told_apart(sandbox: Sandbox) -> None:
    with pytest.raises(RenderError) as caught:
        await sandbox.render(directory("nowhere"), WrittenTree({"app/x.yaml": ""}))
    assert caught.value.reason == "PathNotFound"


async def test_a_link_out_of_the_repository_is_refused(sandbox: Sandbox) -> None:
    tree = WrittenTree({"app/x.yaml": CONFIG % "x", "app/y.yaml": Link("../../etc/passwd")})
    with pytest.raises(RenderError) as caught:
        await sandbox.render(directory(), tree)
    assert caught.value.reason == "OutsideRepository"
    assert "app/y.yaml" in caught.value.message


async def test_a_link_inside_the_repository_is_followed(sandbox: Sandbox) -> None:
    tree = WrittenTree({"app/y.yaml": Link("../shared/x.yaml"), "shared/x.yaml": CONFIG % "x"})
    rendered = await sandbox.render(directory(), tree)
    assert names(rendered) == ["ConfigMap/x"]
    assert {"app/y.yaml", "shared/x.yaml"} <= rendered.read_set.keys()


async def test_a_path_out_of_the_repository_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(RenderError) as caught:
        await sandbox.render(directory("../../.."), WrittenTree({"app/x.yaml": ""}))
    assert caught.value.reason == "OutsideRepository"
