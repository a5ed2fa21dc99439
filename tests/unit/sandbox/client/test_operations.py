from typing import Any

import msgspec
import pytest

from agent.renderer.questions import RepositoryQuestions
from sandbox.client import Sandbox, SandboxError
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree


async def evaluate(sandbox: Sandbox, op: str, params: dict[str, Any], value: Any = None) -> Any:
    answer = await sandbox.evaluate(op, params, msgspec.json.encode(value))
    return msgspec.json.decode(answer)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('return {status = "Healthy", message = obj.kind}', {"status": "Healthy", "message": "X"}),
        ("return {}", []),
        ("return nil", None),
        ("if obj.gone == nil then return {status = 'Degraded'} end", {"status": "Degraded"}),
        ("return {n = #obj.list, first = obj.list[1]}", {"n": 2, "first": 1.5}),
        ("for i = 1, 3 do if i < 3 then goto next end do return {i} end ::next:: end", [3]),
        ("return {a = io == nil, b = os == nil, c = string == nil}", dict.fromkeys("abc", True)),
        ("local os = require('os') return {os.time{year=1970, month=1, day=2, hour=0}}", [86400]),
        ("return {os = os, x = tostring(require('os').getenv)}", {"x": "nil"}),
        ("return {load = dofile, file = loadfile}", []),
    ],
)
async def test_lua_keeps_the_contract_of_argo_cd(
    sandbox: Sandbox, script: str, expected: Any
) -> None:
    value = {"kind": "X", "gone": None, "list": [1.5, 2]}
    assert await evaluate(sandbox, "lua", {"script": script}, value) == expected


async def test_lua_gets_string_and_math_only_with_open_libs(sandbox: Sandbox) -> None:
    script = {"script": "return {string.upper('a'), math.floor(1.5), os.date('%Y', 0), io == nil}"}
    with pytest.raises(SandboxError, match="index a non-table object"):
        await evaluate(sandbox, "lua", script)
    seen = await evaluate(sandbox, "lua", script | {"useOpenLibs": True})
    assert seen == ["A", 1, "1970", True]


async def test_jq_keeps_large_integers_and_sees_no_environment(sandbox: Sandbox) -> None:
    params = {"expression": ".n, (.n + 1), (env | length)"}
    assert await evaluate(sandbox, "jq", params, {"n": 2**60}) == [2**60, 2**60 + 1, 0]
    with pytest.raises(SandboxError) as caught:
        await evaluate(sandbox, "jq", {"expression": ".["})
    assert caught.value.reason == "JqFailed"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ .name | upper }}", "WEB"),
        ('{{ normalize "Feature/A_b" }}', "feature-a-b"),
        ('{{ slugify "Hello, World" }}', "hello-world"),
        (
            '{{ slugify 8 true "hello-world" }}|{{ slugify 8 false "hello-world" }}',
            "hello|hello-wo",
        ),
        ("{{ toYaml .list }}", "- 1\n- a: b"),
        ('{{ (fromYaml "a: 1").a }}{{ index (fromYamlArray "[x]") 0 }}', "1x"),
        ("{{ .missing }}", "<no value>"),
    ],
)
async def test_templates_have_sprig_and_the_additions_of_argo_cd(
    sandbox: Sandbox, template: str, expected: str
) -> None:
    value = {"name": "web", "list": [1, {"a": "b"}]}
    assert await evaluate(sandbox, "gotemplate", {"templates": [template]}, value) == [expected]


@pytest.mark.parametrize("function", ['env "HOME"', 'expandenv "$HOME"', 'getHostByName "x"'])
async def test_templates_cannot_look_at_the_machine(sandbox: Sandbox, function: str) -> None:
    with pytest.raises(SandboxError, match="not defined"):
        await evaluate(sandbox, "gotemplate", {"templates": ["{{ " + function + " }}"]}, {})


async def test_a_missing_key_can_be_an_error(sandbox: Sandbox) -> None:
    params = {"templates": ["{{ .a }}"], "options": ["missingkey=error"]}
    with pytest.raises(SandboxError, match="no entry for key"):
        await evaluate(sandbox, "gotemplate", params, {})


async def test_rego_evaluates_both_languages(sandbox: Sandbox) -> None:
    new = "package p\ndeny contains m if { input.n > 1; m := data.words.big }"
    old = 'package p\ndeny[m] { input.n > 1; m := "big" }'
    params: dict[str, Any] = {
        "query": "data.p.deny",
        "modules": {"p": new},
        "data": {"words": {"big": "big"}},
    }
    expected = [{"value": ["big"], "bindings": {}}]
    assert await evaluate(sandbox, "rego", params, {"n": 2}) == expected
    params = {"query": "data.p.deny", "modules": {"p": old}, "v0": True}
    assert await evaluate(sandbox, "rego", params, {"n": 2}) == expected


@pytest.mark.parametrize(
    "call",
    [
        'http.send({"method": "get", "url": "http://example.org"})',
        'net.lookup_ip_addr("x")',
        "opa.runtime()",
    ],
)
async def test_rego_reaches_no_network(sandbox: Sandbox, call: str) -> None:
    with pytest.raises(SandboxError, match="undefined function"):
        await evaluate(sandbox, "rego", {"query": call})


def asked(files: dict[str, str | bytes | TreeLink]) -> RepositoryQuestions:
    return RepositoryQuestions(WrittenTree(files), 1 << 20)


async def test_jsonnet_imports_from_the_repository(sandbox: Sandbox) -> None:
    files = asked({"a/main.jsonnet": "import 'x.libsonnet'", "a/x.libsonnet": "{b: 1 + 1}"})
    params = {"file": "a/main.jsonnet", "raw": True}
    assert msgspec.json.decode(await sandbox.evaluate("jsonnet", params, files=files)) == {"b": 2}
    files = asked({"a/main.jsonnet": "importstr '../../../etc/passwd'"})
    with pytest.raises(SandboxError) as caught:
        await sandbox.evaluate("jsonnet", params, files=files)
    assert caught.value.reason == "OutsideRepository"


@pytest.mark.parametrize(
    ("constraint", "prefix", "expected"),
    [("1.x", "", "v1.10.0"), (">=3", "", ""), ("^1.2.0-0", "web-", "web-1.3.0-rc.1")],
)
async def test_semver_gives_the_highest_tag_as_it_is_written(
    sandbox: Sandbox, constraint: str, prefix: str, expected: str
) -> None:
    tags = ["v1.9.0", "v1.10.0", "v2.0.0", "nightly", "web-1.2.0", "web-1.3.0-rc.1"]
    params = {"constraint": constraint, "versions": tags, "prefix": prefix}
    assert await evaluate(sandbox, "semver", params) == {"version": expected}


async def test_a_single_star_stops_at_separators(sandbox: Sandbox) -> None:
    params = {"patterns": ["a/*", "a/**", "{a,b}/c"], "texts": ["a/c", "a/c/d"], "separators": "/"}
    seen = await evaluate(sandbox, "glob", params)
    assert seen == {"matches": [[True, True, True], [False, True, False]]}


async def test_yaml_of_any_origin_becomes_objects(sandbox: Sandbox) -> None:
    text = b"kind: A\n---\nkind: AList\nitems: [{kind: A}, {kind: B}]\n"
    answer = await sandbox.evaluate("yaml", {"file": "x.yaml"}, text)
    assert answer.splitlines() == [b'{"kind":"A"}', b'{"kind":"A"}', b'{"kind":"B"}']


@pytest.mark.parametrize("text", [b"- 1", b"just words", b"a: 1", b"kind: [x]"])
async def test_yaml_that_is_no_object_is_refused(sandbox: Sandbox, text: bytes) -> None:
    with pytest.raises(SandboxError) as caught:
        await sandbox.evaluate("yaml", {"file": "x.yaml"}, text)
    assert (caught.value.reason, caught.value.file) == ("YamlInvalid", "x.yaml")
