"""Reading objects, also malformed ones."""

import pytest

from bus.identity import ResourceKey
from handlers.manifest import access

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "annotations": {"words": "a, b,,a "},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "rs",
                "uid": "7",
                "controller": True,
            },
            "nonsense",
        ],
    },
    "spec": {"containers": [{"name": "c"}]},
}


@pytest.mark.parametrize(
    ("written", "expected"),
    [("v1", ("", "v1")), ("apps/v1", ("apps", "v1")), ("", ("", ""))],
    ids=["core", "group", "empty"],
)
def test_api_version_splits_into_group_and_version(written: str, expected: tuple[str, str]) -> None:
    assert access.split_api_version(written) == expected


def test_key_has_no_version() -> None:
    assert access.key(POD) == ResourceKey("", "Pod", "shop", "web")


def test_get_follows_keys_and_indices() -> None:
    assert access.get(POD, "spec", "containers", 0, "name") == "c"


@pytest.mark.parametrize(
    "path",
    [("spec", "none"), ("spec", "containers", 3), ("kind", "x"), ("spec", 0), ("kind", 0)],
    ids=str,
)
def test_get_of_a_missing_step_is_none(path: tuple[str | int, ...]) -> None:
    assert access.get(POD, *path) is None


@pytest.mark.parametrize(
    "broken",
    [{}, {"metadata": None}, {"metadata": []}, {"metadata": {"name": 3, "annotations": "x"}}],
    ids=["empty", "null", "list", "wrong types"],
)
def test_malformed_metadata_reads_as_absent(broken: dict[str, object]) -> None:
    assert access.name(broken) == ""
    assert access.annotations(broken) == {}
    assert access.owners(broken) == ()


def test_owners_skip_nonsense() -> None:
    (owner,) = access.owners(POD)
    assert (owner.kind, owner.name, owner.controller) == ("ReplicaSet", "rs", True)


def test_annotation_words_are_trimmed_and_unique() -> None:
    assert access.annotation_words(POD, "words") == ("a", "b")
