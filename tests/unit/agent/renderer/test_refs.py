"""A chart reads value files of another repository, and nothing else of it."""

import pytest
from msgspec.structs import replace

from agent.renderer.questions import RepositoryQuestions
from agent.renderer.renderer import SandboxRenderer
from handlers.ports.rendering import RenderError
from handlers.render.read_set import holds
from sandbox.client import Sandbox
from sandbox.client.frames import WorkerFrame
from tests.unit.agent.renderer.recipe_samples import helm, objects
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree

CHART = WrittenTree(
    {
        "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "chart/templates/a.yaml": (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: {{ .Values.v }}}\n"
        ),
        "$values/prod.yaml": "v: own\n",
        "secret.yaml": "v: own\n",
    }
)
VALUES = {"prod.yaml": "v: lent\n", "linked": TreeLink("prod.yaml"), "out": TreeLink("../x.yaml")}


async def test_the_files_that_were_read_stand_under_their_ref(sandbox: Sandbox) -> None:
    recipe = replace(helm(valueFiles=["$values/linked"]), refs=("values",))
    tree = WrittenTree(VALUES)
    rendered = await SandboxRenderer(sandbox).render(recipe, CHART, refs={"values": tree})
    assert objects(rendered)[0]["data"] == {"v": "lent"}
    assert rendered.refs["values"].keys() == {"linked", "prod.yaml"}
    assert holds(rendered.refs["values"], tree)
    assert not holds(rendered.refs["values"], WrittenTree(VALUES | {"prod.yaml": "v: new\n"}))
    assert holds(rendered.read_set, CHART)
    assert not any("$" in path or "\0" in path for path in rendered.read_set)


@pytest.mark.parametrize("path", ["$values/out", "$values/../secret.yaml", "$other/prod.yaml"])
async def test_no_path_leads_out_of_the_referenced_repository(sandbox: Sandbox, path: str) -> None:
    recipe = replace(helm(valueFiles=[path]), refs=("values",))
    with pytest.raises(RenderError):
        await SandboxRenderer(sandbox).render(recipe, CHART, refs={"values": WrittenTree(VALUES)})


def test_a_worker_reads_no_ref_that_its_request_does_not_name() -> None:
    questions = RepositoryQuestions(CHART, 1 << 20, {"values": WrittenTree(VALUES)})
    for ref, path in (("other", "prod.yaml"), ("values", "prod.yaml\0"), ("", "values\0prod.yaml")):
        reply, body = questions.answer(WorkerFrame(ask="read", path=path, ref=ref))
        assert reply.error is not None
        assert not body
    assert questions.read_set == {}


def test_what_was_read_holds_only_with_the_same_refs() -> None:
    files = RepositoryQuestions(CHART, 1 << 20, {"values": WrittenTree(VALUES)})
    files.answer(WorkerFrame(ask="read", path="prod.yaml", ref="values"))
    files.answer(WorkerFrame(ask="read", path="secret.yaml"))
    changed = RepositoryQuestions(CHART, 1 << 20, {"values": WrittenTree({"prod.yaml": "v: 2"})})
    assert files.holds(files.read_set)
    assert not changed.holds(files.read_set)
    assert not RepositoryQuestions(CHART, 1 << 20).holds(files.read_set)
