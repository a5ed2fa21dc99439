from __future__ import annotations

from collections.abc import Iterator, Mapping
from runpy import run_path
from typing import Any

import pytest

from handlers.application.crd import definitions
from tests.paths import REPOSITORY

DEPLOY = REPOSITORY / "deploy"


def schemas(node: object) -> Iterator[Mapping[str, Any]]:
    """Every schema inside of a schema, itself first."""
    assert isinstance(node, Mapping)
    yield node
    for inner in (*node.get("properties", {}).values(), node.get("items")):
        if inner is not None:
            yield from schemas(inner)


def parts() -> Iterator[Mapping[str, Any]]:
    for definition in definitions().values():
        (version,) = definition["spec"]["versions"]
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        for name in ("spec", "status", "operation"):
            if name in properties:
                yield from schemas(properties[name])


@pytest.mark.parametrize("name", definitions())
def test_the_written_definitions_are_fresh(name: str) -> None:
    generate = run_path(str(DEPLOY / "generate.py"))
    written = (DEPLOY / "base" / "crds" / f"{name}.yaml").read_text()
    assert written == generate["text_of"](definitions()[name]), "run deploy/generate.py"


def test_schemas_are_structural() -> None:
    for schema in parts():
        assert not {"$ref", "anyOf", "oneOf", "default", "title"} & schema.keys()
        assert "type" in schema or schema.get("x-kubernetes-int-or-string")


def test_every_object_preserves_unknown_fields_and_never_beside_additional_properties() -> None:
    for schema in parts():
        if schema.get("type") == "object":
            keeps = schema.get("x-kubernetes-preserve-unknown-fields", False)
            assert keeps != ("additionalProperties" in schema)


def test_an_applications_status_is_open_and_one_field_to_the_api_server() -> None:
    status = definitions()["applications"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"][
        "properties"
    ]["status"]
    assert status == {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-map-type": "atomic",
    }


def test_applications_have_no_status_subresource_and_the_columns_of_kubectl() -> None:
    (version,) = definitions()["applications"]["spec"]["versions"]
    assert "subresources" not in version
    columns = [column["name"] for column in version["additionalPrinterColumns"]]
    assert columns == ["Sync Status", "Health Status", "Revision", "Project"]


def test_short_names_are_argo_cds() -> None:
    names = [one["spec"]["names"]["shortNames"][0] for one in definitions().values()]
    assert names == ["app", "appproj", "appset"]
