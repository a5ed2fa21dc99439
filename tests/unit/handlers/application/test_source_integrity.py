"""Whose signatures a project demands of which repositories."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from handlers.application.application import AppProject
from handlers.application.source_integrity import (
    ALLOWED_SIGNERS,
    IntegrityMode,
    integrity_of,
    policy_of,
)
from handlers.application.spec import Source
from handlers.trust.allowed_signers import AllowedSigner
from handlers.trust.signature import SignatureCheck, SignatureState
from tests.unit.handlers.application.builders import project

KEY, FINGERPRINT = "D56C4FCA57A46444", "0" * 24 + "D56C4FCA57A46444"
URL = "https://git.example/team/apps"


def policy(*urls: str, mode: str = "head", keys: tuple[str, ...] = (KEY,)) -> dict[str, Any]:
    return {"repos": [{"url": one} for one in urls], "gpg": {"mode": mode, "keys": list(keys)}}


def demanding(*policies: dict[str, Any], **spec: Any) -> AppProject:
    return project({"sourceIntegrity": {"git": {"policies": list(policies)}}, **spec})


@pytest.mark.parametrize(
    ("urls", "repository", "is_concerned"),
    [
        (["*"], URL, True),
        (["https://git.example/*"], URL, True),
        (["https://git.example/team/apps"], "https://GIT.example:443/team/apps.git", True),
        (["https://git.example/Team/*"], URL, True),
        (["*", "!https://git.example/team/*"], URL, False),
        (["*", "!https://git.example/TEAM/*"], URL, True),
        (["https://other.example/*"], URL, False),
        (["*"], "oci://registry.example/apps", False),
    ],
)
def test_a_policy_concerns_the_repositories_that_it_names(
    urls: list[str], repository: str, *, is_concerned: bool
) -> None:
    found = policy_of(demanding(policy(*urls)), Source(repo_url=repository))
    assert (found is not None) is is_concerned


def test_a_chart_has_no_commits() -> None:
    source = Source(repo_url="https://charts.example", chart="web")
    assert policy_of(demanding(policy("*")), source) is None


def test_the_mode_none_demands_nothing() -> None:
    assert policy_of(demanding(policy("*", mode="none")), Source(repo_url=URL)) is None


def test_the_older_field_is_one_policy_for_all_repositories() -> None:
    found = policy_of(project({"signatureKeys": [{"keyID": KEY.lower()}]}), Source(repo_url=URL))
    assert found is not None
    assert (found.mode, found.keys) == (IntegrityMode.HEAD, (KEY,))


def test_the_older_field_counts_only_without_a_git_part() -> None:
    older = [{"keyID": KEY}]
    newer = demanding(policy("*", mode="strict", keys=()), signatureKeys=older)
    (found,) = integrity_of(newer).policies
    assert (found.mode, found.keys) == (IntegrityMode.STRICT, ())
    without = project({"sourceIntegrity": {}, "signatureKeys": older})
    (found,) = integrity_of(without).policies
    assert found.keys == (KEY,)


def test_a_git_part_without_policies_demands_nothing() -> None:
    assert integrity_of(demanding(signatureKeys=[{"keyID": KEY}])).policies == ()


@pytest.mark.parametrize(
    ("key", "signed", "is_allowed"),
    [
        (KEY, (FINGERPRINT, ""), True),
        (KEY, ("F" * 40, FINGERPRINT), True),
        (FINGERPRINT, (FINGERPRINT, ""), True),
        ("1" + FINGERPRINT[1:], (FINGERPRINT, ""), False),
        (KEY, ("F" * 40, ""), False),
        (KEY, ("", ""), False),
    ],
    ids=["id", "primary", "fingerprint", "other with the same id", "other", "none"],
)
def test_a_key_is_named_by_id_or_fingerprint(
    key: str, signed: tuple[str, str], *, is_allowed: bool
) -> None:
    found = policy_of(demanding(policy("*", keys=(key,))), Source(repo_url=URL))
    assert found is not None
    assert found.allows(*signed) is is_allowed


def noted(limited: AppProject, principals: str) -> AppProject:
    metadata = replace(limited.metadata, annotations={ALLOWED_SIGNERS: principals})
    return replace(limited, metadata=metadata)


def signed_by_ssh(*principals: str) -> SignatureCheck:
    line = AllowedSigner(principals=principals, key=b"key")
    return SignatureCheck(id="1", state=SignatureState.GOOD, key="SHA256:x", principals=(line,))


def test_principals_of_the_annotation_may_sign_too() -> None:
    found = policy_of(
        noted(demanding(policy("*")), "ada@example.org, bob@example.org"), Source(repo_url=URL)
    )
    assert found is not None
    assert found.proves(signed_by_ssh("*@example.org"))
    assert not found.proves(signed_by_ssh("eve@example.org"))
    assert "the key D56C4FCA57A46444 or ada@example.org" in found.expected


def test_the_annotation_alone_demands_the_head_of_all_repositories() -> None:
    found = policy_of(noted(project(), "ada@example.org"), Source(repo_url=URL))
    assert found is not None
    assert (found.mode, found.signers) == (IntegrityMode.HEAD, ("ada@example.org",))
