"""From what an Application says to a recipe: the build environment, and what it depends on."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.identity import Revision
from handlers.application.tool_settings import ToolSettings, read_tools
from handlers.ports.rendering import Recipe, SourceType
from handlers.render.recipes import (
    RecipeContext,
    build_environment,
    names_revision,
    recipe_of,
    substitute,
)
from tests.unit.handlers.application.builders import REPO, application

COMMIT = Revision("0123456789abcdef0123456789abcdef01234567")


def recipe(
    type_: SourceType,
    block: dict[str, Any],
    revision: Revision = COMMIT,
    kube: str = "v1.36.3",
    refs: tuple[str, ...] = (),
) -> Recipe:
    app = application({"source": {"repoURL": REPO, "path": "web"} | block})
    environment = build_environment(app, revision, kube, ("v1",))
    return recipe_of(type_, app, "web", RecipeContext(environment, kube, ("v1",), refs))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$ARGOCD_APP_NAME", "web"),
        ("x-${ARGOCD_APP_NAME}-y", "x-web-y"),
        ("$ARGOCD_APP_REVISION_SHORT", "0123456"),
        ("$ARGOCD_APP_REVISION_SHORT_8", "01234567"),
        ("$ARGOCD_APP_NAMESPACE", "shop"),
        ("$$ARGOCD_APP_NAME", "$ARGOCD_APP_NAME"),
        ("a${UNKNOWN}b", "ab"),
        ("100 $ and more", "100 $ and more"),
    ],
)
def test_substitution(text: str, expected: str) -> None:
    environment = build_environment(application(), COMMIT, "v1.36.3", ("v1",))
    assert substitute(text, environment) == expected


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_a_text_without_a_dollar_stays(text: str) -> None:
    assert substitute(text, {"A": "b"}) == text


def test_parameters_and_value_files_are_substituted_and_values_are_not() -> None:
    made = recipe(
        SourceType.HELM,
        {
            "helm": {
                "parameters": [{"name": "a", "value": "$ARGOCD_APP_NAME"}],
                "valueFiles": ["$ARGOCD_APP_NAME.yaml"],
                "values": "a: $ARGOCD_APP_NAME",
            }
        },
    )
    assert made.helm.parameters[0].value == "web"
    assert made.helm.value_files == ("web.yaml",)
    assert made.helm.values == "a: $ARGOCD_APP_NAME"


@pytest.mark.parametrize(("asked", "expected"), [(True, "web"), (False, "$ARGOCD_APP_NAME")])
def test_annotations_are_substituted_when_asked(asked: bool, expected: str) -> None:  # noqa: FBT001  a table
    options = {"commonAnnotations": {"a": "$ARGOCD_APP_NAME"}, "commonAnnotationsEnvsubst": asked}
    made = recipe(SourceType.KUSTOMIZE, {"kustomize": options})
    assert made.kustomize.common_annotations == {"a": expected}


def test_images_and_labels_are_substituted() -> None:
    options = {
        "images": ["web:$ARGOCD_APP_REVISION_SHORT"],
        "commonLabels": {"a": "$ARGOCD_APP_NAME"},
    }
    made = recipe(SourceType.KUSTOMIZE, {"kustomize": options})
    assert made.kustomize.images == ("web:0123456",)
    assert made.kustomize.common_labels == {"a": "web"}


@pytest.mark.parametrize("type_", list(SourceType))
def test_only_charts_and_plugins_depend_on_the_cluster(type_: SourceType) -> None:
    before, after = recipe(type_, {}), recipe(type_, {}, kube="v1.37.0")
    depends = type_ in (SourceType.HELM, SourceType.PLUGIN)
    assert (before.fingerprint != after.fingerprint) is depends


def test_a_recipe_does_not_depend_on_the_commit_unless_it_says_so() -> None:
    other = Revision("f" * 40)
    parameters = {"helm": {"parameters": [{"name": "a", "value": "$ARGOCD_APP_REVISION"}]}}
    plain = [recipe(SourceType.HELM, {"helm": {}}, one) for one in (COMMIT, other)]
    bound = [recipe(SourceType.HELM, parameters, one) for one in (COMMIT, other)]
    assert plain[0].fingerprint == plain[1].fingerprint
    assert bound[0].fingerprint != bound[1].fingerprint
    app = application({"source": {"repoURL": REPO, "path": "web"} | parameters})
    assert app.source is not None
    assert names_revision(app.source)


def test_the_chart_s_own_kube_version_wins() -> None:
    made = recipe(SourceType.HELM, {"helm": {"kubeVersion": "v1.20.0", "apiVersions": ["a/v1"]}})
    assert (made.kube_version, made.api_versions) == ("v1.20.0", ("a/v1",))


def test_a_ref_at_the_begin_of_a_path_is_no_variable() -> None:
    paths = ["$values/$ARGOCD_APP_NAME.yaml", "$ARGOCD_APP_NAME/x.yaml", "a/$values/x.yaml"]
    helm = {"valueFiles": paths, "fileParameters": [{"name": "a", "path": "$more/$$x"}]}
    made = recipe(SourceType.HELM, {"helm": helm}, refs=("more", "values", "unused"))
    assert made.helm.value_files == ("$values/web.yaml", "web/x.yaml", "a//x.yaml")
    assert made.helm.file_parameters[0].path == "$more/$x"
    assert made.refs == ("more", "values")


def test_a_source_alone_has_variables_only() -> None:
    made = recipe(SourceType.HELM, {"helm": {"valueFiles": ["$values/x.yaml"]}})
    assert (made.helm.value_files, made.refs) == (("/x.yaml",), ())


def test_settings_of_tools_are_part_of_the_recipes_that_they_concern() -> None:
    tools = read_tools({"jsonnet.enable": "false", "kustomize.buildOptions": "--reorder legacy"})
    made = {
        (type_, some): recipe_of(
            type_, application(), "web", RecipeContext({}, "v1.36.3", ("v1",), tools=some)
        )
        for type_ in SourceType
        for some in (tools, ToolSettings())
    }
    changed = {
        type_
        for type_ in SourceType
        if made[type_, tools].fingerprint != made[type_, ToolSettings()].fingerprint
    }
    assert changed == {SourceType.DIRECTORY, SourceType.KUSTOMIZE}
    assert made[SourceType.DIRECTORY, tools].skip_jsonnet
    assert made[SourceType.KUSTOMIZE, tools].build.reorder == "legacy"
