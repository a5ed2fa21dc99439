"""Applications of a file are read without the sandbox, as it reads them; mistakes are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.local.inputs import InputError, InputManifests
from cli.local.manifest_files import read_manifests
from handlers.application.unknown_fields import unknown_fields
from tests.unit.cli.conftest import Gitops

HEAD = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\n"
READ = {
    "two documents": f"{HEAD}---\n{HEAD}---\n",
    "dates and times": f"{HEAD}spec: {{a: 2026-11-21, b: 12:30:45, c: 2026-11-21T10:00:00Z}}",
    "numbers": f"{HEAD}spec: {{a: 1, b: -2.5, c: 1e3, d: 0x1f, e: 017, f: 1_000, g: 5425ff4}}",
    "words": f"{HEAD}spec: {{a: yes, b: 'on', c: ~, d: null, e: true, f: ''}}",
    "blocks": f"{HEAD}spec:\n  values: |\n    a: 1\n  folded: >-\n    a\n    b\n",
    "anchors": f"{HEAD}spec: {{a: &x {{b: 1}}, c: *x, d: {{<<: *x, e: 2}}}}",
    "json": '{"apiVersion": "v1", "kind": "Application", "metadata": {"name": "a"}}',
    "a list": '{"kind": "List", "items": [{"apiVersion": "v1", "kind": "X"}]}',
}
BROKEN = {
    "empty": ("", "is empty"),
    "a comment": ("# nothing\n", "holds no object"),
    "a text": ("hello", "expected a Kubernetes object, found str"),
    "no kind": ("metadata: {name: x}", "apiVersion or kind is missing"),
    "a tab": ("a:\n\tb: 1", "line 2, column 1"),
    "a key twice": (f"{HEAD}spec: {{a: 1, a: 2}}", "line 4, column 14: the key 'a' stands twice"),
    "python": ("!!python/object/apply:os.system [ls]", "line 1, column 1"),
}


@pytest.mark.parametrize("text", READ.values(), ids=READ.keys())
async def test_a_file_is_read_as_the_sandbox_reads_it(
    tmp_path: Path, sandbox_binary: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("GITOPS_SANDBOX_BINARY", str(sandbox_binary))
    file = tmp_path / "app.yaml"
    file.write_text(text)
    async with InputManifests() as manifests:
        manifests_read = [it.manifest for it in await manifests.read(str(file))]
    assert [it.body for it in read_manifests(str(file))] == manifests_read


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_manifest_is_refused_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_manifests(str(file))
    assert str(file) in str(refused.value)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"sourc": {}}, "spec.sourc is not a field; did you mean source?"),
        ({"source": {"repoUrl": "x"}}, "spec.source.repoUrl is not a field; did you mean repoURL?"),
        ({"syncPolicy": {"automated": {"selfheal": True}}}, "did you mean selfHeal?"),
        ({"sources": [{"targetRevison": "x"}]}, "spec.sources[0].targetRevison is not a field"),
    ],
)
def test_a_misspelt_field_is_refused_with_what_was_meant(
    spec: dict[str, Any], message: str
) -> None:
    (problem,) = unknown_fields("Application", {"spec": spec})
    assert message in problem.message


ARGO_CD: dict[str, Any] = {
    "project": "default",
    "info": [{"name": "url", "value": "x"}],
    "revisionHistoryLimit": 3,
    "sourceHydrator": {"drySource": {}, "syncSource": {}},
    "ignoreDifferences": [
        {
            **dict.fromkeys(("group", "kind", "name", "namespace", "jsonPointers")),
            **dict.fromkeys(("jqPathExpressions", "managedFieldsManagers")),
        }
    ],
    "destination": dict.fromkeys(("server", "name", "namespace")),
    "syncPolicy": {
        "automated": dict.fromkeys(("prune", "selfHeal", "allowEmpty", "enabled")),
        "syncOptions": [],
        "retry": {
            "limit": 1,
            "refresh": True,
            "backoff": dict.fromkeys(("duration", "factor", "maxDuration")),
        },
        "managedNamespaceMetadata": {"labels": {}, "annotations": {}},
    },
    "source": {
        **dict.fromkeys(("repoURL", "path", "targetRevision", "chart", "ref", "name")),
        "helm": dict.fromkeys(
            (
                "releaseName",
                "valueFiles",
                "parameters",
                "fileParameters",
                "values",
                "valuesObject",
                "ignoreMissingValueFiles",
                "passCredentials",
                "skipCrds",
                "skipTests",
                "version",
                "skipSchemaValidation",
                "kubeVersion",
                "apiVersions",
                "namespace",
            )
        ),
        "kustomize": dict.fromkeys(
            (
                "namePrefix",
                "nameSuffix",
                "images",
                "commonLabels",
                "forceCommonLabels",
                "patches",
                "commonAnnotations",
                "forceCommonAnnotations",
                "commonAnnotationsEnvsubst",
                "namespace",
                "replicas",
                "components",
                "ignoreMissingComponents",
                "version",
                "labelWithoutSelector",
                "labelIncludeTemplates",
                "kubeVersion",
                "apiVersions",
            )
        ),
        "directory": {
            **dict.fromkeys(("recurse", "include", "exclude")),
            "jsonnet": dict.fromkeys(("extVars", "tlas", "libs")),
        },
        "plugin": dict.fromkeys(("name", "env", "parameters")),
    },
}
"""Every field of an Argo CD Application's spec."""


def test_no_field_of_argo_cd_is_taken_for_a_mistake() -> None:
    assert mistakes({"spec": ARGO_CD}) == []
    for part in ("source", "syncPolicy"):
        for name, value in ARGO_CD[part].items():
            assert mistakes({"spec": {part: {name: value}}}) == []
            for alone in value if isinstance(value, dict) else ():
                assert mistakes({"spec": {part: {name: {alone: None}}}}) == []


def mistakes(manifest: dict[str, Any]) -> list[str]:
    return [it.path for it in unknown_fields("Application", manifest) if it.meant]


@pytest.mark.parametrize(
    ("kind", "manifest", "path"),
    [
        ("Application", {"spec": {"zebra": 1}}, "spec.zebra"),
        ("Application", {"spec": {"sources": [{}, {"zebra": {}}]}}, "spec.sources[1].zebra"),
        ("Application", {"zebra": 1}, "zebra"),
        ("Application", {"metadata": {"name": "x", "zebra": 1}}, "metadata.zebra"),
        ("AppProject", {"spec": {"destinations": [{"zebra": 1}]}}, "spec.destinations[0].zebra"),
    ],
)
def test_a_field_that_resembles_none_is_said_to_be_ignored(
    kind: str, manifest: dict[str, Any], path: str
) -> None:
    (found,) = unknown_fields(kind, manifest)
    assert found.message == f"{path} is not known to the agent and is ignored"


@pytest.mark.parametrize(
    "manifest",
    [
        {"metadata": {"labels": {"zebra": "1"}, "annotations": {"zebra": "1"}}},
        {"spec": {"source": {"helm": {"valuesObject": {"zebra": {"stripes": 1}}}}}},
        {"status": {"zebra": 1}},
    ],
)
def test_what_is_the_authors_own_is_not_unknown(manifest: dict[str, Any]) -> None:
    assert list(unknown_fields("Application", manifest)) == []


def test_an_unknown_kind_has_no_unknown_fields() -> None:
    assert list(unknown_fields("ApplicationSet", {"spec": {"generators": []}})) == []
    assert list(unknown_fields("Deployment", {"zebra": 1})) == []


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_the_file_is_read_before_anything_else_is_asked(gitops: Gitops, verb: str) -> None:
    ran = gitops("app", verb, "-f", "/nonexistent/app.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "/nonexistent/app.yaml: cannot be read" in ran.err
