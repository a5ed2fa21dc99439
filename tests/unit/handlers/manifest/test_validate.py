"""What a render wrote becomes objects that may be applied, or problems a person can mend."""

import pytest

from bus.status import Reason
from handlers.manifest.kinds import KindInfo, Kinds
from handlers.manifest.manifest_assembly import Assembly, ObjectOrigin, assemble

KINDS = Kinds(
    [
        KindInfo(group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True),
        KindInfo(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False),
        KindInfo(group="batch", version="v1", kind="Job", plural="jobs", namespaced=True),
        KindInfo(
            group="apiextensions.k8s.io",
            version="v1",
            kind="CustomResourceDefinition",
            plural="customresourcedefinitions",
            namespaced=False,
        ),
    ]
)
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [{"name": "v1", "served": True}],
    },
}


def obj(kind: str = "ConfigMap", api: str = "v1", **metadata: object) -> dict[str, object]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x", **metadata}}


def assembled(*documents: object, namespace: str = "dest") -> Assembly:
    written = [(ObjectOrigin("app.yaml", number), doc) for number, doc in enumerate(documents, 1)]
    return assemble(written, KINDS, namespace)


def test_namespace_is_filled_in_and_stripped_by_scope() -> None:
    result = assembled(obj(), obj("Namespace", namespace="wrong"), obj(namespace="own"))
    assert result.problems == ()
    assert [m["metadata"].get("namespace") for m in result.manifests] == ["dest", None, "own"]


def test_lists_are_expanded_and_empty_documents_dropped() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [obj(name="a"), obj(name="b")]}
    assert len(assembled(None, {}, listed).manifests) == 2


@pytest.mark.parametrize(
    ("document", "reason", "message"),
    [
        ("words", Reason.MANIFEST_INVALID, "found a str"),
        ([1], Reason.MANIFEST_INVALID, "found a list"),
        ({"kind": "ConfigMap"}, Reason.MANIFEST_INVALID, "apiVersion is missing"),
        ({"apiVersion": "v1"}, Reason.MANIFEST_INVALID, "kind is missing"),
        (obj(name=""), Reason.MANIFEST_INVALID, "metadata.name is missing"),
        (obj(name="", generateName="x-"), Reason.MANIFEST_INVALID, "only possible for hooks"),
        (obj(labels={"a": True}), Reason.MANIFEST_INVALID, "metadata.labels: a is true"),
        (obj(annotations={"a": 1.5}), Reason.MANIFEST_INVALID, "metadata.annotations: a is 1.5"),
        (obj(labels=["a"]), Reason.MANIFEST_INVALID, "metadata.labels is a list"),
        (obj("Frob", "frob.io/v1"), Reason.UNKNOWN_KIND, "does not know frob.io/Frob"),
        (obj("Job", "batch/v1beta1"), Reason.UNKNOWN_KIND, "it serves v1"),
    ],
)
def test_problem_says_what_is_wrong(document: object, reason: Reason, message: str) -> None:
    result = assembled(obj(name="fine"), document)
    (problem,) = result.problems
    assert problem.reason is reason
    assert message in problem.message
    assert problem.origin == ObjectOrigin("app.yaml", 2)


def test_problem_names_file_document_and_object() -> None:
    (problem,) = assembled(obj(), namespace="").problems
    assert problem.reason is Reason.NAMESPACE_MISSING
    assert str(problem).startswith("app.yaml, document 1: ConfigMap x: ")


def test_duplicate_names_the_first_place() -> None:
    (problem,) = assembled(obj(namespace="dest"), obj()).problems
    assert problem.reason is Reason.DUPLICATE_OBJECT
    assert "first in app.yaml, document 1" in problem.message


def test_duplicates_inside_one_list_are_seen() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [obj(), obj()]}
    assert [p.reason for p in assembled(listed).problems] == [Reason.DUPLICATE_OBJECT]


def test_hook_may_generate_its_name() -> None:
    hook = obj("Job", "batch/v1", name="", generateName="migrate-")
    hook["metadata"]["annotations"] = {"argocd.argoproj.io/hook": "PreSync"}  # type: ignore[index]
    assert assembled(hook, hook).problems == ()


def test_kind_defined_in_the_same_set_is_known_with_its_scope() -> None:
    result = assembled(obj("Thing", "example.com/v1", namespace="gone"), CRD)
    assert result.problems == ()
    assert "namespace" not in result.manifests[0]["metadata"]


def test_all_problems_are_told_at_once() -> None:
    assert len(assembled("words", {"kind": "X"}, obj("Frob", "f/v1")).problems) == 3
