"""From rendered objects to an artifact, or to what is wrong with all of them."""

from typing import Any

import msgspec
import pytest

from bus.status import Reason
from handlers.manifest.manifest_assembly import ObjectOrigin, Written, objects_of
from handlers.ports.rendering import RecordedOrigin, RenderError, RenderResult
from handlers.render.artifact import Artifact, ArtifactOwner, assemble, decoded, served_kinds
from tests.unit.handlers.render.kept_applications import ServedKindsTable

OWNER = ArtifactOwner(identity="web", namespace="shop")
CONFIG_MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "cats.zoo.example"},
    "spec": {
        "group": "zoo.example",
        "names": {"kind": "Cat", "plural": "cats"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True}],
    },
}


def assembled(*objects: dict[str, Any]) -> Artifact:
    rendered = RenderResult(
        objects=tuple(msgspec.json.encode(one) for one in objects),
        origins=tuple(RecordedOrigin("web/a.yaml", number) for number, _ in enumerate(objects, 1)),
        read_set={},
    )
    written = decoded(rendered)
    live = ServedKindsTable()
    return assemble(written, served_kinds(written, live.kind, live.api_versions()), OWNER)


def test_objects_keep_their_order_one_a_line() -> None:
    second = {**CONFIG_MAP, "metadata": {"name": "b"}}
    artifact = assembled(second, CONFIG_MAP)
    assert artifact.objects == artifact.content.count(b"\n") == 2
    assert [one["metadata"]["name"] for one in objects_of(artifact.content)] == ["b", "a"]


def test_nothing_rendered_is_an_artifact_of_nothing() -> None:
    assert assembled() == Artifact(b"", 0)


def test_a_list_is_its_items() -> None:
    artifact = assembled({"apiVersion": "v1", "kind": "List", "items": [CONFIG_MAP]})
    (one,) = objects_of(artifact.content)
    assert one["metadata"]["namespace"] == "shop"


def test_a_kind_defined_beside_it_is_known() -> None:
    cat = {"apiVersion": "zoo.example/v1", "kind": "Cat", "metadata": {"name": "tom"}}
    assert assembled(cat, DEFINITION).objects == 2


@pytest.mark.parametrize(("version", "known"), [("v1", True), ("v1beta1", True), ("v2", False)])
def test_every_served_version_is_known_and_no_other(version: str, known: bool) -> None:  # noqa: FBT001  a table
    deployment = {
        "apiVersion": f"apps/{version}",
        "kind": "Deployment",
        "metadata": {"name": "a"},
    }
    if known:
        assert assembled(deployment).objects == 1
        return
    with pytest.raises(RenderError) as caught:
        assembled(deployment)
    assert caught.value.reason is Reason.UNKNOWN_KIND


def test_problems_are_told_together_with_their_places() -> None:
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    with pytest.raises(RenderError) as caught:
        assembled(CONFIG_MAP, nameless, CONFIG_MAP)
    assert caught.value.reason is Reason.MANIFEST_INVALID
    assert (caught.value.file, caught.value.document) == ("web/a.yaml", 2)
    assert "document 2" in caught.value.message
    assert "document 3" in caught.value.message


def test_many_problems_are_counted() -> None:
    with pytest.raises(RenderError, match="and 3 more"):
        assembled(*[{"kind": "Nonsense"}] * 8)


def test_the_last_of_several_sources_has_an_object() -> None:
    def of(place: int, *values: str) -> list[Written]:
        found = ({**CONFIG_MAP, "data": {"by": one}} for one in values)
        return [(ObjectOrigin("a.yaml", number, place), one) for number, one in enumerate(found)]

    kinds = served_kinds(of(0, "x"), ServedKindsTable().kind, ServedKindsTable().api_versions())
    artifact = assemble([*of(0, "first"), *of(2, "last")], kinds, OWNER)
    (one,) = objects_of(artifact.content)
    assert one["data"] == {"by": "last"}
    (sentence,) = artifact.repeated
    assert "ConfigMap shop/a is in spec.sources[0] and in spec.sources[2]" in sentence
    with pytest.raises(RenderError) as caught:
        assemble([*of(0, "first"), *of(1, "last", "twice")], kinds, OWNER)
    assert caught.value.reason is Reason.DUPLICATE_OBJECT
