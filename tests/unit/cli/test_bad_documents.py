"""One bad document in a file: it is named with its place, and the others are answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Gitops
from tests.unit.cli.test_render_and_plan import app

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\n"
SPOILT = f"{GOOD.format('a')}---\nkind: B\na: b: c\n---\n{GOOD.format('b')}"
PLACE = {"document": 2, "line": 6}


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    file = tmp_path / "spoilt.yaml"
    file.write_text(SPOILT)
    return file


def test_health_answers_the_others(with_sandbox: Gitops, spoilt: Path) -> None:
    ran = with_sandbox("health", spoilt, "--json")
    good, bad, last = ran.answers
    assert ran.code == 2
    assert (good["name"], last["name"]) == ("a", "b")
    assert bad == {"file": str(spoilt), "error": bad["error"], **PLACE}
    assert f"{spoilt}, document 2: line 6" in bad["error"]
    assert bad["error"] in ran.err


def test_plan_orders_the_others(with_sandbox: Gitops, spoilt: Path) -> None:
    ran = with_sandbox("plan", "-f", spoilt, "--json")
    assert ran.code == 2
    (good,) = ran.good
    assert [one["name"] for one in good["steps"][0]["objects"]] == ["a", "b"]
    (bad,) = [one for one in ran.answers if "error" in one]
    assert {name: bad[name] for name in PLACE} == PLACE


def test_render_renders_the_others(with_sandbox: Gitops, tmp_path: Path) -> None:
    (tmp_path / "repo" / "web").mkdir(parents=True)
    (tmp_path / "repo" / "web" / "a.yaml").write_text(GOOD.format("a"))
    file = tmp_path / "apps.yaml"
    file.write_text(f"{GOOD.format('no-app')}---\na: b: c\n---\n{json.dumps(app())}\n")
    ran = with_sandbox("render", "-f", file, "--repo", tmp_path / "repo", "--json")
    assert ran.code == 2
    (good,) = ran.good
    assert (good["document"], good["application"]) == (3, "argocd/web")
    assert [one["metadata"]["name"] for one in good["objects"]] == ["a"]
    bad = [one for one in ran.answers if "error" in one]
    assert [one["document"] for one in bad] == [1, 2]
    assert "expected an Application of argoproj.io" in bad[0]["error"]
    assert bad[1]["line"] == 5


def test_diff_compares_the_others(with_sandbox: Gitops, spoilt: Path, tmp_path: Path) -> None:
    live = tmp_path / "live.yaml"
    live.write_text(f"{GOOD.format('a')}---\n{GOOD.format('b')}")
    ran = with_sandbox("diff", "--desired", spoilt, "--live", live, "--json")
    assert ran.code == 2
    assert [one.get("modified") for one in ran.answers] == [False, False, None]
    assert {name: ran.answers[-1][name] for name in PLACE} == PLACE


def test_diff_does_not_call_missing_what_it_cannot_read(
    with_sandbox: Gitops, spoilt: Path, tmp_path: Path
) -> None:
    desired = tmp_path / "desired.yaml"
    desired.write_text(f"{GOOD.format('b')}---\n{GOOD.format('perhaps')}")
    ran = with_sandbox("diff", "--desired", desired, "--live", spoilt, "--json")
    assert ran.code == 2
    assert [one.get("modified") for one in ran.answers] == [False, None]


def test_two_objects_left_over_are_not_taken_for_a_pair(
    with_sandbox: Gitops, tmp_path: Path
) -> None:
    for name in ("desired", "live"):
        (tmp_path / name).write_text(f"{GOOD.format(name)}---\na: b: c\n")
    ran = with_sandbox("diff", "--desired", tmp_path / "desired", "--live", tmp_path / "live")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("document 2") == 2


def test_what_is_json_and_no_object_is_named_too(gitops: Gitops, tmp_path: Path) -> None:
    good = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"a": 1}, good]}))
    ran = gitops("health", file, tmp_path / "absent.json", "--json")
    bad, fine, absent = ran.answers
    assert (ran.code, fine["name"]) == (2, "a")
    assert (bad["document"], "apiVersion or kind is missing" in bad["error"]) == (1, True)
    assert (absent["file"], "cannot be read" in absent["error"]) == (
        str(tmp_path / "absent.json"),
        True,
    )
