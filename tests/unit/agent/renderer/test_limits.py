"""What hostile or unlucky input meets: one clear failure each, and a pool that goes on."""

from pathlib import Path

import pytest

from agent.renderer.renderer import SandboxRenderer
from handlers.ports.rendering import RenderError
from sandbox.client import Capability, Sandbox, SandboxError, SandboxLimits
from tests.unit.agent.renderer.recipe_samples import directory, helm, names
from tests.unit.agent.renderer.written_tree import WrittenTree

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
TIGHT = SandboxLimits(
    workers=1,
    deadline=2,
    memory_bytes=256 << 20,
    input_bytes=1 << 20,
    output_bytes=1 << 20,
    questions=200,
    directory_bytes=100_000,
)


def chart(template: str) -> WrittenTree:
    return WrittenTree(
        {
            "chart/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n",
            "chart/templates/x.yaml": template,
        }
    )


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ range $i := 9000000000000 }}{{ end }}", "DeadlineExceeded"),
        ('{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}', "TemplateFailed"),
        ('{{ repeat 2147483647 "x" }}', "MemoryExceeded"),
        ('a: {{ repeat 3000000 "x" }}\n' + CONFIG, "OutputTooLarge"),
    ],
    ids=["endless-loop", "endless-recursion", "two-gigabytes", "large-output"],
)
async def test_a_template_that_wants_too_much_fails_and_the_next_one_is_rendered(
    sandbox_binary: Path, template: str, reason: str
) -> None:
    async with Sandbox(sandbox_binary, TIGHT) as sandbox:
        with pytest.raises(RenderError) as caught:
            await SandboxRenderer(sandbox).render(helm(), chart(template))
        assert caught.value.reason == reason
        assert names(await SandboxRenderer(sandbox).render(helm(), chart(CONFIG))) == [
            "ConfigMap/x"
        ]


@pytest.mark.parametrize(
    "files",
    [
        {f"app/{number}.txt.yaml": CONFIG for number in range(300)},
        {"app/x.yaml": CONFIG + "# " + "x" * 200_000},
        {"app/x.yaml": CONFIG + "# " + "x" * 2_000_000},
        {"app/x.json": "{" * 20_000},
    ],
    ids=["many-files", "large-folder", "large-file", "deep"],
)
async def test_a_folder_that_is_too_large_is_refused(
    sandbox_binary: Path, files: dict[str, str]
) -> None:
    async with Sandbox(sandbox_binary, TIGHT) as sandbox:
        with pytest.raises(RenderError) as caught:
            await SandboxRenderer(sandbox).render(directory(), WrittenTree(dict(files)))
        assert caught.value.reason in {"OutputTooLarge", "YamlInvalid"}
        assert caught.value.message


@pytest.mark.parametrize("depth", [1_000, 9_000])
async def test_an_object_that_no_reader_could_follow_is_refused_by_name(
    sandbox: Sandbox, depth: int
) -> None:
    nested = "data: " + "[" * depth + "]" * depth
    for recipe, files in (
        (directory(), WrittenTree({"app/x.yaml": f"{CONFIG}{nested}\n"})),
        (helm(), chart(f"{CONFIG}{nested}\n")),
    ):
        with pytest.raises(RenderError) as caught:
            await SandboxRenderer(sandbox).render(recipe, files)
        assert caught.value.reason == "YamlInvalid"
        assert "x.yaml, document 1: the object is nested more than 200 levels" in str(caught.value)


async def test_brackets_within_a_text_are_no_nesting(sandbox: Sandbox) -> None:
    text = CONFIG + "data: {a: '" + '"\\[{' * 500 + "'}\n"
    rendered = await SandboxRenderer(sandbox).render(directory(), WrittenTree({"app/x.yaml": text}))
    assert names(rendered) == ["ConfigMap/x"]


@pytest.mark.parametrize(
    ("op", "params", "reason"),
    [
        ("lua", {"script": "while true do end"}, "DeadlineExceeded"),
        ("lua", {"script": "local t={} while true do t[#t+1]=string.rep('x',1e6) end"}, None),
        ("jq", {"expression": "[range(1e12)]"}, None),
        ("jq", {"expression": "range(1e12)"}, "OutputTooLarge"),
        ("gotemplate", {"templates": ["{{range 9000000000}}xxxxxxxx{{end}}"]}, "OutputTooLarge"),
        ("jsonnet", {"raw": True, "file": "x"}, "FileNotFound"),
        ("lua", {"scirpt": "return 1"}, "RequestInvalid"),
        ("open", {}, "RequestInvalid"),
    ],
    ids=["loop", "hoard", "jq-hoard", "jq-flood", "flood", "no-files", "unknown-field", "unknown"],
)
async def test_a_script_that_wants_too_much_fails(
    sandbox_binary: Path, op: str, params: dict[str, object], reason: str | None
) -> None:
    async with Sandbox(sandbox_binary, TIGHT) as sandbox:
        with pytest.raises(SandboxError) as caught:
            await sandbox.evaluate(op, params, b"null" if op != "jsonnet" else b"")
        expected = {reason} if reason else {"MemoryExceeded", "DeadlineExceeded", "LuaFailed"}
        assert caught.value.reason in expected
        assert await sandbox.evaluate("jq", {"expression": ".a"}, b'{"a": 1}') == b"[1]"


async def test_workers_are_confined_and_have_no_environment(sandbox: Sandbox) -> None:
    assert sandbox.capabilities == set(Capability)
    (pid,) = sandbox.pids
    assert kernel_status(pid, "environ") == ""
    assert "NoNewPrivs:\t1" in kernel_status(pid, "status")
    assert "Seccomp:\t2" in kernel_status(pid, "status")


def kernel_status(pid: int, what: str) -> str:
    return Path(f"/proc/{pid}/{what}").read_text()
