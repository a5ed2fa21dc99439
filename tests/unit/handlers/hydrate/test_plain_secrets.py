"""Which Secrets are not committed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handlers.application.application import read_project
from handlers.hydrate.plain_secrets import PLAIN_SECRETS, plain_secrets_problem
from tests.unit.handlers.application.builders import project


def secret(**parts: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, **parts}


VALUE = {"password": "c2VjcmV0"}
SOPS = {"sops": {"mac": "ENC[AES256_GCM,data:x]", "version": "3.9.0"}}
PLAIN: dict[str, dict[str, Any]] = {
    "data": secret(data=VALUE),
    "text": secret(stringData={"password": "secret"}),
    "in a list": {"apiVersion": "v1", "kind": "List", "items": [secret(data=VALUE)]},
    "in a list in a list": {
        "kind": "List",
        "items": [{"kind": "List", "items": [secret(data=VALUE)]}],
    },
    "in a list of Secrets": {
        "apiVersion": "v1",
        "kind": "SecretList",
        "items": [{"metadata": {"name": "login"}, "data": VALUE}],
    },
    "no mapping": secret(data=["c2VjcmV0"]),
}
HARMLESS: dict[str, dict[str, Any]] = {
    "no value": secret(),
    "empty values": secret(data={"password": ""}),
    "sealed": {"apiVersion": "bitnami.com/v1alpha1", "kind": "SealedSecret", "spec": VALUE},
    "another group's": {"apiVersion": "x.example/v1", "kind": "Secret", "data": VALUE},
    "a ConfigMap": {"apiVersion": "v1", "kind": "ConfigMap", "data": VALUE},
}


@pytest.mark.parametrize("manifest", PLAIN.values(), ids=PLAIN)
def test_a_secret_with_readable_values_is_refused_by_its_name(manifest: dict[str, Any]) -> None:
    problem = plain_secrets_problem([manifest], project())
    assert problem.startswith("Secret login would be committed with readable values")
    assert "c2VjcmV0" not in problem


@pytest.mark.parametrize("manifest", HARMLESS.values(), ids=HARMLESS)
def test_what_shows_no_value_is_committed(manifest: dict[str, Any]) -> None:
    assert plain_secrets_problem([manifest, None, "text"], project()) == ""


@pytest.mark.parametrize("wrapped", [False, True], ids=["by itself", "in a list"])
def test_what_sops_has_encrypted_is_not_committed(*, wrapped: bool) -> None:
    one = secret(stringData={"a": "ENC[AES256_GCM,data:x,type:str]"}, **SOPS)
    objects = [{"kind": "List", "items": [one]}] if wrapped else [one]
    assert "Secret login is encrypted by SOPS" in plain_secrets_problem(objects, project())


@pytest.mark.parametrize(("value", "permits"), [("permitted", True), ("true", False)])
def test_a_project_permits_them_by_its_annotation(value: str, *, permits: bool) -> None:
    metadata = {"name": "default", "annotations": {PLAIN_SECRETS: value}}
    known = read_project(msgspec.json.encode({"metadata": metadata, "spec": {}}))
    assert (plain_secrets_problem([secret(data=VALUE)], known) == "") is permits
