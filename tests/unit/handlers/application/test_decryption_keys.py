"""Which Secrets hold the keys of a project, and what of them are keys."""

from __future__ import annotations

import pytest

from handlers.application.application import AppProject, Metadata
from handlers.application.decryption_keys import (
    DECRYPTION_KEYS,
    DecryptionKeys,
    key_secrets,
    key_secrets_problem,
    keys_in,
)


def project(text: str) -> AppProject:
    return AppProject(metadata=Metadata(name="shop", annotations={DECRYPTION_KEYS: text}))


@pytest.mark.parametrize(
    ("text", "names"),
    [("", ()), (" a , b,,a", ("a", "b")), ("team.a-1", ("team.a-1",)), (",", ())],
)
def test_the_annotation_names_secrets(text: str, names: tuple[str, ...]) -> None:
    assert key_secrets(project(text)) == names
    assert key_secrets_problem(project(text)) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("other/sops", "'other/sops' is not the name of a Secret"),
        ("../x", "is not the name"),
        ("sops\nmore", "is not the name"),
        (",".join(f"k{number}" for number in range(11)), "names 11 Secrets"),
    ],
)
def test_what_is_no_list_of_names_gives_no_keys(text: str, problem: str) -> None:
    assert problem in key_secrets_problem(project(text))
    assert key_secrets(project(text)) == ()


def test_keys_are_known_by_the_names_of_their_entries() -> None:
    found = keys_in(
        {
            "b": {"team.agekey": "age-b", "note": "no key"},
            "a": {"two.asc": "pgp-a", "one.agekey": "age-a", "none.agekey": ""},
        }
    )
    assert found == DecryptionKeys(age=("age-a", "age-b"), pgp=("pgp-a",))


def test_keys_are_not_shown() -> None:
    assert repr(DecryptionKeys(age=("AGE-SECRET-KEY-1X",))) == "DecryptionKeys(1 of age, 0 of PGP)"
