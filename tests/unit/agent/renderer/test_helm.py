import io
import tarfile
from typing import Any

import pytest

from agent.renderer.renderer import SandboxRenderer
from handlers.ports.rendering import RenderError
from tests.unit.agent.renderer.recipe_samples import helm, names, objects
from tests.unit.agent.renderer.written_tree import WrittenTree

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
SHOW = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
data: {{ .Values | toJson }}
"""


def chart(**files: str) -> dict[str, str]:
    return {"chart/Chart.yaml": CHART, "chart/templates/show.yaml": SHOW} | {
        name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()
    }


async def values(renderer: SandboxRenderer, files: dict[str, str], **fields: Any) -> dict[str, Any]:
    rendered = await renderer.render(helm(**fields), WrittenTree(chart() | files))
    shown: dict[str, Any] = objects(rendered)[0]["data"]
    return shown


async def test_release_and_destination_reach_the_templates(renderer: SandboxRenderer) -> None:
    template = """\
        apiVersion: v1
        kind: X
        metadata: {name: x}
        data:
          version: {{ .Capabilities.KubeVersion.Version }}
          apps: {{ .Capabilities.APIVersions.Has "apps/v1" }}
          mine: {{ .Capabilities.APIVersions.Has "example.org/v1/Mine" }}
          found: {{ lookup "v1" "Secret" "a" "b" | toJson }}
        """
    tree = WrittenTree(chart() | {"chart/templates/x.yaml": template})
    rendered = await renderer.render(helm(apiVersions=["example.org/v1/Mine"]), tree)
    show, caps = objects(rendered)
    assert show["metadata"] == {"name": "shop", "namespace": "prod"}
    assert caps["data"] == {"version": "v1.36.0", "apps": True, "mine": True, "found": {}}
    assert [origin.file for origin in rendered.origins] == [
        "chart/templates/show.yaml",
        "chart/templates/x.yaml",
    ]


async def test_values_are_merged_weakest_first(renderer: SandboxRenderer) -> None:
    files = {
        "chart/values.yaml": "a: chart\nb: chart\nc: chart\nd: chart\ne: {f: chart, g: chart}\n",
        "chart/prod.yaml": "b: file\nc: file\nd: file\n",
        "shared/values.yaml": "c: shared\nd: shared\n",
    }
    seen = await values(
        renderer,
        files,
        valueFiles=["prod.yaml", "/shared/values.yaml", "gone.yaml"],
        ignoreMissingValueFiles=True,
        values="d: ignored\n",
        valuesObject={"d": "object", "e": {"g": "object"}},
    )
    assert seen == {
        "a": "chart",
        "b": "file",
        "c": "shared",
        "d": "object",
        "e": {"f": "chart", "g": "object"},
    }


async def test_parameters_have_the_grammar_of_set(renderer: SandboxRenderer) -> None:
    seen = await values(
        renderer,
        {"chart/note.txt": "hi\n"},
        parameters=[
            {"name": "image.tag", "value": "1"},
            {"name": "text", "value": "1", "forceString": True},
            {"name": "list", "value": "{a,b}"},
            {"name": "comma", "value": "a,b"},
            {"name": "items[0].name", "value": "x"},
        ],
        fileParameters=[{"name": "note", "path": "note.txt"}],
    )
    assert seen == {
        "image": {"tag": 1},
        "text": "1",
        "list": ["a", "b"],
        "comma": "a,b",
        "items": [{"name": "x"}],
        "note": "hi\n",
    }


async def test_crds_hooks_and_tests(renderer: SandboxRenderer) -> None:
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    hook = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, annotations: {helm.sh/hook: %s}}\n"
    )
    files = chart() | {
        "chart/crds/x.yaml": crd + "metadata: {name: crd}\n",
        "chart/templates/hook.yaml": hook % ("pre", "pre-install"),
        "chart/templates/tests/t.yaml": hook % ("check", "test"),
        "chart/templates/NOTES.txt": "thank you",
        "chart/templates/_helpers.tpl": '{{ define "x" }}{{ end }}',
    }
    everything = await renderer.render(helm(), WrittenTree(files))
    assert names(everything) == [
        "CustomResourceDefinition/crd",
        "Job/pre",
        "ConfigMap/shop",
        "Job/check",
    ]
    fewer = await renderer.render(helm(skipCrds=True, skipTests=True), WrittenTree(files))
    assert names(fewer) == ["Job/pre", "ConfigMap/shop"]


async def test_vendored_dependencies_follow_their_conditions(renderer: SandboxRenderer) -> None:
    dependency = "apiVersion: v2\nname: %s\nversion: 1.0.0\n"
    files = chart() | {
        "chart/Chart.yaml": CHART
        + "dependencies:\n- {name: db, version: 1.0.0, condition: db.enabled}\n"
        + "- {name: cache, version: 1.0.0, condition: cache.enabled}\n",
        "chart/values.yaml": "cache: {enabled: false}\n",
        "chart/charts/db/Chart.yaml": dependency % "db",
        "chart/charts/db/templates/x.yaml": SHOW,
        "chart/charts/cache/Chart.yaml": dependency % "cache",
        "chart/charts/cache/templates/x.yaml": SHOW,
    }
    rendered = await renderer.render(helm(), WrittenTree(files))
    assert [origin.file for origin in rendered.origins] == [
        "chart/charts/db/templates/x.yaml",
        "chart/templates/show.yaml",
    ]


async def test_a_dependency_may_be_an_archive(renderer: SandboxRenderer) -> None:
    files: dict[str, str | bytes] = {
        **chart(),
        "chart/Chart.yaml": CHART + "dependencies: [{name: db, version: 1.0.0}]\n",
        "chart/charts/db-1.0.0.tgz": archive(
            {
                "db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n",
                "db/templates/x.yaml": SHOW,
            }
        ),
    }
    rendered = await renderer.render(helm(), WrittenTree(files))
    assert rendered.origins[0].file == "chart/charts/db/templates/x.yaml"


def archive(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


async def test_what_helmignore_names_is_not_part_of_the_chart(renderer: SandboxRenderer) -> None:
    files = chart() | {"chart/.helmignore": "*.bak\n", "chart/templates/show.yaml.bak": "{{ nope"}
    rendered = await renderer.render(helm(), WrittenTree(files))
    assert names(rendered) == ["ConfigMap/shop"]
    assert "chart/templates/show.yaml.bak" not in rendered.read_set


@pytest.mark.parametrize(
    ("files", "fields", "reason", "file", "words"),
    [
        (
            {"chart/templates/x.yaml": "a: 1\nb: {{ fail `no` }}"},
            {},
            "TemplateFailed",
            "chart/templates/x.yaml",
            "no",
        ),
        (
            {"chart/templates/x.yaml": "kind: X\n{{ if }}"},
            {},
            "TemplateFailed",
            "chart/templates/x.yaml",
            "missing value",
        ),
        (
            {"chart/templates/x.yaml": "kind: X\na: b: c"},
            {},
            "YamlInvalid",
            "chart/templates/x.yaml",
            "line 2",
        ),
        (
            {"chart/Chart.yaml": CHART + "dependencies: [{name: db, version: 1.x}]"},
            {},
            "MissingDependency",
            "chart/Chart.yaml",
            "db 1.x",
        ),
        ({}, {"valueFiles": ["gone.yaml"]}, "FileNotFound", "chart/gone.yaml", "gone.yaml"),
        ({}, {"valueFiles": ["../../x"]}, "OutsideRepository", "../../x", "leads out"),
        ({}, {"valueFiles": ["https://u:pw@x.org/v"]}, "RemoteBase", "", "is remote"),
        (
            {"chart/values.schema.json": '{"required": ["size"]}'},
            {},
            "TemplateFailed",
            "",
            "size",
        ),
        ({}, {"valueFiles": ["$other/x.yaml"]}, "InvalidSpec", "", "no other source"),
        ({"chart/Chart.yaml": "name: x"}, {}, "TemplateFailed", "chart/Chart.yaml", "version"),
        ({}, {"parameters": [{"name": "a[x]", "value": "1"}]}, "TemplateFailed", "", "a[x]"),
    ],
    ids=[
        "fail",
        "parse",
        "yaml",
        "dependency",
        "value-file",
        "outside",
        "remote",
        "schema",
        "other-source",
        "chart",
        "set",
    ],
)
async def test_what_cannot_be_rendered_says_why_and_where(
    renderer: SandboxRenderer,
    files: dict[str, str],
    fields: dict[str, Any],
    reason: str,
    file: str,
    words: str,
) -> None:
    with pytest.raises(RenderError) as caught:
        await renderer.render(helm(**fields), WrittenTree(chart() | files))
    assert (caught.value.reason, caught.value.file) == (reason, file)
    assert words in caught.value.message
    assert "pw" not in caught.value.message


async def test_the_schema_is_not_asked_where_it_is_to_be_skipped(renderer: SandboxRenderer) -> None:
    files = {"chart/values.schema.json": '{"required": ["size"]}'}
    assert await values(renderer, files, skipSchemaValidation=True) == {}


@pytest.mark.parametrize(
    ("end", "first", "last"),
    [("", "text\n", "text\n"), ("\n", "text\n\n", "text\n"), ("\n\n\n", "text\n\n\n\n", "text\n")],
    ids=["no-newline", "newline", "blank-lines"],
)
async def test_a_block_that_keeps_its_newlines_ends_as_in_helms_output(
    renderer: SandboxRenderer, end: str, first: str, last: str
) -> None:
    """`helm template` prints a newline after each document, and cuts the space after the last."""

    def config(name: str, more: str) -> bytes:
        head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
        return f"{head}data:\n  text: |+\n    text{more}".encode()

    files = {
        "chart/templates/a.yaml": config("a", end),
        "chart/templates/b.yaml": config("b", "\n---\n").replace(b"---", b"--- # next")
        + config("c", end),
        "chart/templates/d.yaml": config("d", end) + b"\n---\n# nothing more\n",
    }
    base = {name: text for name, text in chart().items() if "templates" not in name}
    made = objects(await renderer.render(helm(), WrittenTree(base | files)))
    assert made[0]["data"]["text"] == first
    assert made[2]["data"]["text"] == first
    assert made[1]["data"]["text"] == "text\n\n"
    files.pop("chart/templates/d.yaml")
    alone = objects(await renderer.render(helm(), WrittenTree(base | files)))
    assert alone[-1]["data"]["text"] == last
