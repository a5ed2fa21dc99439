"""The generated files are what the code says, and the base is whole."""

from __future__ import annotations

from deploy import generate, render
from sandbox.client import Sandbox


async def test_the_generated_files_are_fresh(sandbox: Sandbox) -> None:
    made = await generate.files(sandbox)
    stale = [str(path) for path, text in made.items() if _text(path) != text]
    assert not stale, "run: make docs"


async def test_every_generated_file_is_made_still(sandbox: Sandbox) -> None:
    made = await generate.files(sandbox)
    for folder in ("base/crds", "chart/definitions"):
        there = {path.relative_to(render.FOLDER) for path in (render.FOLDER / folder).iterdir()}
        assert there <= made.keys()


async def test_the_base_is_the_chart_and_its_namespace(sandbox: Sandbox) -> None:
    def names(objects: tuple[render.Object, ...]) -> set[tuple[str, str]]:
        return {(one["kind"], one["metadata"]["name"]) for one in objects}

    chart = names(await render.chart(sandbox, {}, render.NAMESPACE))
    assert names(await render.base(sandbox)) == chart | {("Namespace", render.NAMESPACE)}


def _text(path: object) -> str:
    file = render.FOLDER / str(path)
    return file.read_text() if file.exists() else ""
