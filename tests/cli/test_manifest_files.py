"""Applications of a file are read without the sandbox, as it reads them; mistakes are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.far.misspelt import misspelt
from cli.inputs import InputError, Manifests
from cli.manifest_files import read_manifests
from tests.cli.conftest import Gitops

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
    async with Manifests() as manifests:
        wanted = [it.manifest for it in await manifests.read(str(file))]
    assert [it.body for it in read_manifests(str(file))] == wanted


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_manifest_is_refused_with_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_manifests(str(file))
    assert str(file) in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"sourc": {}}, "spec.sourc is not a field; did you mean source?"),
        ({"source": {"repoUrl": "x"}}, "spec.source.repoUrl is not a field; did you mean repoURL?"),
        ({"syncPolicy": {"automated": {"selfheal": True}}}, "did you mean selfHeal?"),
        ({"sources": [{"targetRevison": "x"}]}, "spec.sources[0].targetRevison is not a field"),
    ],
)
def test_a_misspelt_field_is_refused_with_what_was_meant(spec: dict[str, Any], said: str) -> None:
    (problem,) = misspelt("Application", {"spec": spec})
    assert said in problem


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
    assert list(misspelt("Application", {"spec": ARGO_CD})) == []
    for part in ("source", "syncPolicy"):
        for name, value in ARGO_CD[part].items():
            assert list(misspelt("Application", {"spec": {part: {name: value}}})) == []
            for alone in value if isinstance(value, dict) else ():
                one = {"spec": {part: {name: {alone: None}}}}
                assert list(misspelt("Application", one)) == []


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_the_file_is_read_before_anything_else_is_asked(gitops: Gitops, verb: str) -> None:
    ran = gitops("app", verb, "-f", "/nonexistent/app.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "/nonexistent/app.yaml: cannot be read" in ran.err
