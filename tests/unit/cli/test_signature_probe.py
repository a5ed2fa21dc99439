"""`gitops agent check` says what keeps commits from being proven."""

from __future__ import annotations

from typing import Any

import pytest

from cli.local.signature_probe import findings
from tests.unit.handlers.application.builders import project
from tests.unit.handlers.trust.samples import ED25519, ED25519_ID, RSA_ID

DEMANDING: dict[str, Any] = {"signatureKeys": [{"keyID": ED25519_ID}]}


def test_a_cluster_without_demands_has_no_finding() -> None:
    assert list(findings([project()], {}, None)) == []


@pytest.mark.parametrize(
    ("keys", "program", "named"),
    [
        ({ED25519_ID: ED25519}, None, "no program gpg"),
        ({}, "/usr/bin/gpg", ED25519_ID),
        ({RSA_ID: ED25519}, "/usr/bin/gpg", ED25519_ID),
    ],
    ids=["no program", "no key", "key under another id"],
)
def test_what_is_missing_is_named(keys: dict[str, str], program: str | None, named: str) -> None:
    failed = [one for one in findings([project(DEMANDING)], keys, program) if not one.ok]
    assert [named in one.found for one in failed] == [True]


def test_a_project_whose_keys_are_there_is_fine() -> None:
    (found,) = findings([project(DEMANDING)], {ED25519_ID: ED25519}, "/usr/bin/gpg")
    assert (found.ok, "default" in found.found) == (True, True)
