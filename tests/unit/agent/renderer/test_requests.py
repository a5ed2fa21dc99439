import msgspec
import pytest

from agent.renderer.renderer import reason_of
from agent.renderer.requests import request_of
from sandbox.client import SandboxLimits, SandboxReason
from tests.unit.agent.renderer.recipe_samples import directory, helm, kustomize


@pytest.mark.parametrize("reason", SandboxReason)
def test_every_reason_has_a_word_of_the_house(reason: SandboxReason) -> None:
    assert reason_of(reason)


def test_release_name_and_namespace_default_to_the_application() -> None:
    _, params = request_of(helm(passCredentials=True), SandboxLimits())
    assert (params["releaseName"], params["namespace"]) == ("shop", "prod")
    assert "passCredentials" not in params
    _, params = request_of(helm(releaseName="r", namespace="n"), SandboxLimits())
    assert (params["releaseName"], params["namespace"]) == ("r", "n")


def test_sources_keep_argo_cds_field_names() -> None:
    _, params = request_of(
        kustomize(namePrefix="a-", replicas=[{"name": "x", "count": "3"}]), SandboxLimits()
    )
    assert params["overrides"] == {"namePrefix": "a-", "replicas": [{"name": "x", "count": 3}]}
    op, params = request_of(directory(recurse=True), SandboxLimits())
    assert (op, params["recurse"]) == ("directory", True)
    assert msgspec.json.encode(params)
