"""What of an object SOPS has encrypted, and the note of it that stays on the object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handlers.manifest.encryption import (
    ENCRYPTED_FIELDS,
    encrypted_fields,
    has_loose_ciphertext,
    is_encrypted,
    may_hold_encrypted,
    noted_fields,
    noted_values,
    with_note,
    without_noted,
)

CIPHERTEXT = "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]"


def manifest(kind: str = "ConfigMap", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "web"}, **fields}


def noted(note: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "web", "annotations": {ENCRYPTED_FIELDS: note}}
    return {**manifest(**fields), "metadata": metadata}


@pytest.mark.parametrize(
    ("one", "encrypted"),
    [
        (manifest(data={"a": CIPHERTEXT}, sops={"mac": "x"}), True),
        (manifest(data={"a": "plain"}, sops={"mac": "x"}), True),
        (manifest(data={"a": CIPHERTEXT}, sops={}), True),
        (manifest(data={"a": "plain"}, sops={"enabled": True}), False),
        (manifest(data={"a": CIPHERTEXT}, sops="text"), False),
        (manifest(data={"a": "plain"}), False),
        (manifest("SopsSecret", data={"a": CIPHERTEXT}, sops={"mac": "x"}), False),
    ],
)
def test_an_object_of_sops_is_known_by_its_block(one: dict[str, Any], *, encrypted: bool) -> None:
    assert is_encrypted(one) is encrypted
    assert not encrypted or may_hold_encrypted(msgspec.json.encode(one))


@pytest.mark.parametrize(
    ("one", "loose"),
    [
        (manifest(data={"a": CIPHERTEXT}), True),
        (manifest(spec={"list": [{"deep": CIPHERTEXT}]}), True),
        (manifest(data={"a": CIPHERTEXT}, sops={"mac": "x"}), False),
        (manifest(data={"a": CIPHERTEXT}, sops="text"), True),
        (manifest("SopsSecret", spec={"a": CIPHERTEXT}), False),
        (manifest(data={"file": f"a: {CIPHERTEXT}\n"}), False),
    ],
)
def test_ciphertext_without_the_names_of_its_keys_is_found(
    one: dict[str, Any], *, loose: bool
) -> None:
    assert has_loose_ciphertext(one) is loose


def test_the_note_names_encrypted_fields_and_the_whole_of_a_list() -> None:
    one = manifest(
        spec={"a/b": CIPHERTEXT, "users": [{"x": CIPHERTEXT}, {"y": CIPHERTEXT}], "open": "1"},
        sops={"mac": CIPHERTEXT},
    )
    assert encrypted_fields(one) == (("spec", "a/b"), ("spec", "users"))
    note = with_note(one)
    assert note["metadata"]["annotations"][ENCRYPTED_FIELDS] == '["/spec/a~1b","/spec/users"]'
    assert noted_fields(note) == {("spec", "a/b"), ("spec", "users")}


def test_an_object_that_is_not_encrypted_has_no_note() -> None:
    one = manifest(data={"a": "plain"})
    assert with_note(one) is one


def test_a_note_of_many_fields_names_their_parents() -> None:
    data = {f"field-{number:04}": CIPHERTEXT for number in range(2000)}
    note = with_note(manifest(data=data, sops={"mac": "x"}))
    assert noted_fields(note) == {("data",)}


@pytest.mark.parametrize("note", ["*", "{", '["/a", 1]', '["/data"' + "x" * 9000])
def test_a_note_that_cannot_be_read_hides_all_but_the_name(note: str) -> None:
    assert noted_fields(noted(note, data={}, spec={})) == {("data",), ("spec",)}


def test_a_noted_image_is_not_among_those_of_the_object() -> None:
    one = noted('["/spec/image"]', spec={"image": "private:1", "size": 1})
    assert without_noted(one)["spec"] == {"size": 1}


def test_the_values_of_a_secret_are_found_in_the_form_that_is_sent() -> None:
    sent = noted('["/stringData/a","/gone"]', data={"a": "eA=="})
    assert list(noted_values(sent)) == ["eA=="]
