"""What hostile or unlucky input meets: one clear failure each, and a pool that goes on."""

from pathlib import Path

import pytest

from agent.sandbox import Capability, Sandbox, SandboxError, SandboxLimits
from handlers.render.recipe import RenderError
from tests.sandbox.recipes import directory, helm, names
from tests.sandbox.trees import WrittenTree

pytestmark = pytest.mark.flow

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
            await sandbox.render(helm(), chart(template))
        assert caught.value.reason == reason
        assert names(await sandbox.render(helm(), chart(CONFIG))) == ["ConfigMap/x"]


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
            await sandbox.render(directory(), WrittenTree(dict(files)))
        assert caught.value.reason in {"OutputTooLarge", "YamlInvalid"}
        assert caught.value.message


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
    assert told_by_the_kernel(pid, "environ") == ""
    assert "NoNewPrivs:\t1" in told_by_the_kernel(pid, "status")
    assert "Seccomp:\t2" in told_by_the_kernel(pid, "status")


def told_by_the_kernel(pid: int, what: str) -> str:
    return Path(f"/proc/{pid}/{what}").read_text()
