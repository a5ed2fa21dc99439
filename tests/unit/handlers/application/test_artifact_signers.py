"""Whose signatures a project demands of charts and artifacts."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from handlers.application.application import AppProject
from handlers.application.artifact_signers import (
    ARTIFACT_SIGNERS,
    NOBODY,
    gnupg_keys_of,
    names_gnupg_keys,
    public_keys_of,
    signers_of,
    signers_problem,
)
from handlers.application.source_address import SourceAddress
from handlers.application.spec import Source
from handlers.application.validate import problems
from tests.unit.handlers.application.builders import application, project

KEY = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"


def demanding(text: str) -> AppProject:
    made = project()
    return replace(made, metadata=replace(made.metadata, annotations={ARTIFACT_SIGNERS: text}))


def policies(*urls: str, keys: tuple[str, ...] = (KEY,)) -> str:
    return json.dumps({"policies": [{"repos": [{"url": one} for one in urls], "keys": keys}]})


def address(url: str, chart: str = "") -> SourceAddress:
    return SourceAddress.of(Source(repo_url=url, chart=chart))


@pytest.mark.parametrize(
    ("pattern", "url", "chart", "concerned"),
    [
        ("oci://r.example/**", "oci://r.example/team/web", "", True),
        ("oci://r.example/**", "r.example/team", "web", True),
        ("r.example/**", "oci://r.example/team/web", "", True),
        ("oci://R.example:443/team/*", "oci://r.example/team/web", "", True),
        ("oci://r.example/team/web", "r.example/team", "web", True),
        ("oci://r.example/team/**", "https://r.example/team", "web", True),
        ("oci://r.example/*", "oci://r.example/team/web", "", False),
        ("oci://other.example/**", "oci://r.example/web", "", False),
        ("*", "https://charts.example", "web", True),
        ("*", "https://git.example/web", "", False),
    ],
)
def test_a_policy_is_for_charts_and_artifacts_that_its_pattern_matches(
    pattern: str, url: str, chart: str, *, concerned: bool
) -> None:
    found = signers_of(demanding(policies(pattern)), address(url, chart))
    assert found == (((KEY,),) if concerned else ())


def test_keys_of_gnupg_are_part_of_the_demand_with_what_is_trusted() -> None:
    key, at = "D56C4FCA57A46444", address("https://charts.example/all", "web")
    repos = [{"url": "*"}]
    made = demanding(json.dumps({"policies": [{"repos": repos, "gpg": [key.lower()]}]}))
    assert signers_of(made, at, "t1") == ((f"gpg:{key}@t1",),)
    assert gnupg_keys_of(signers_of(made, at, "t1")[0]) == (key,)
    assert public_keys_of(signers_of(made, at, "t1")[0]) == ()
    assert names_gnupg_keys(made)
    assert not names_gnupg_keys(demanding(policies("*")))
    wrong = demanding(json.dumps({"policies": [{"repos": repos, "gpg": ["Ada"]}]}))
    assert signers_of(wrong, at) == NOBODY
    assert "the GnuPG key 'Ada'" in signers_problem(wrong)


def test_without_a_demand_nobody_has_to_sign() -> None:
    assert signers_of(project(), address("oci://r.example/web")) == ()
    assert signers_of(None, address("oci://r.example/web")) == ()
    assert signers_problem(project()) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "truncated"),
        ('{"policies": []}', "0 policies"),
        ('{"policy": []}', "unknown field"),
        (policies("oci://r.example/**", keys=()), "0 keys"),
        (policies("oci://r.example/**", keys=("MFkw",)), "PEM"),
        (policies("!oci://r.example/**"), "expected a pattern"),
        (policies("oci://r.example/{a"), "expected a pattern"),
        (policies(), "0 repos"),
        ("[" * 10_000, ""),
        ("x" * 70_000, "70000 characters"),
    ],
)
def test_a_demand_that_is_not_understood_is_met_by_nobody(text: str, words: str) -> None:
    made = demanding(text)
    assert signers_of(made, address("oci://r.example/web")) == NOBODY
    assert words in signers_problem(made)
    spec: dict[str, Any] = {"source": {"repoURL": "https://git.example/x", "path": "a"}}
    found = [one.message for one in problems(application(spec), made)]
    assert len(found) == 1
    assert ARTIFACT_SIGNERS in found[0]
