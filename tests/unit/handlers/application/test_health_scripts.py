"""The health scripts of `argocd-cm`, as data: which script judges a kind, and what it returned."""

from __future__ import annotations

import pytest

from handlers.application.health_scripts import read_scripts, unreadable_scripts
from handlers.health.script_answer import ScriptAnswerError, script_health
from handlers.health.states import Health, degraded, unknown

MAP = """
apps/Deployment: {health.lua: of the map, health.lua.useOpenLibs: true}
Pod: {health.lua: of pods}
'*.example.com/*': {health.lua: of a group}
'a.example.com/*': {health.lua: of a smaller group}
batch/Job: {ignoreDifferences: 'jsonPointers: [/spec]'}
"""
KEY = "resource.customizations"


@pytest.mark.parametrize(
    ("group", "kind", "text"),
    [
        ("apps", "Deployment", "of the map"),
        ("", "Pod", "of pods"),
        ("b.example.com", "Thing", "of a group"),
        ("a.example.com", "Thing", "of a group"),
        ("batch", "Job", None),
        ("", "Deployment", None),
        ("example.com", "Thing", None),
    ],
)
def test_the_map_names_kinds_and_wildcards(group: str, kind: str, text: str | None) -> None:
    found = read_scripts({KEY: MAP}).of(group, kind)

    assert (found.text if found else None) == text


def test_a_key_of_its_own_goes_before_the_map() -> None:
    data = {KEY: MAP, f"{KEY}.health.apps_Deployment": "of its own", f"{KEY}.health.Pod": "core"}
    scripts = read_scripts(data)
    own, core = scripts.of("apps", "Deployment"), scripts.of("", "Pod")

    assert own is not None
    assert (own.text, own.use_open_libs) == ("of its own", False)
    assert own.source == "resource.customizations.health.apps_Deployment"
    assert core is not None
    assert core.text == "core"


def test_an_exact_kind_goes_before_a_wildcard() -> None:
    scripts = read_scripts({KEY: MAP, f"{KEY}.health.b.example.com_Thing": "exact"})
    found = scripts.of("b.example.com", "Thing")

    assert found is not None
    assert found.text == "exact"


def test_use_open_libs_counts_for_a_script_of_the_map_too() -> None:
    data = {KEY: MAP, f"{KEY}.useOpenLibs.Pod": "true", f"{KEY}.useOpenLibs.apps_Deployment": "no"}
    scripts = read_scripts(data)
    pod, deployment = scripts.of("", "Pod"), scripts.of("apps", "Deployment")

    assert pod is not None
    assert pod.params == {"script": "of pods", "useOpenLibs": True}
    assert deployment is not None
    assert not deployment.use_open_libs


@pytest.mark.parametrize("written", ["[", "- a", "7", ""], ids=repr)
def test_a_map_that_cannot_be_read_has_no_scripts(written: str) -> None:
    assert not read_scripts({KEY: written})


def test_a_script_that_is_no_text_is_named_and_left_out() -> None:
    data = {KEY: "a/B: {health.lua: [1]}\nc/D: {health.lua: fine}\ne/F: 3"}

    assert unreadable_scripts(data) == ("a/B", "e/F")
    assert list(read_scripts(data).exact) == ["c/D"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b'{"status":"Degraded","message":"broken"}', degraded("broken")),
        (b'{"status":"Degraded"}', degraded()),
        (b'{"status":"Fine"}', unknown("Lua returned an invalid health status")),
        (b'{"status":[1]}', unknown("Lua returned an invalid health status")),
        (b'{"message":"x"}', None),
        (b"[]", None),
        (b"null", None),
    ],
)
def test_what_a_script_returns_is_a_health(answer: bytes, expected: Health | None) -> None:
    assert script_health(answer) == expected


@pytest.mark.parametrize("answer", [b'"Healthy"', b"1", b"true"])
def test_an_answer_that_is_no_table_is_refused(answer: bytes) -> None:
    with pytest.raises(ScriptAnswerError, match="expected a table"):
        script_health(answer)
