"""The variables that a plugin's commands get."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handlers.application.plugin_fields import PluginSource
from handlers.application.plugin_source import is_plugin_name, plugin_environment

BUILD = {"ARGOCD_APP_NAME": "web"}


def variables(block: dict[str, Any] | None) -> dict[str, str]:
    plugin = None if block is None else msgspec.convert(block, PluginSource)
    found = plugin_environment(plugin, BUILD, lambda text: text.replace("$ARGOCD_APP_NAME", "web"))
    return dict(found)


def test_variables_have_a_prefix_and_may_use_the_build_environment() -> None:
    block = {"env": [{"name": "PATH", "value": "/x"}, {"name": "A", "value": "$ARGOCD_APP_NAME-1"}]}
    assert variables(block) == {
        **BUILD,
        "ARGOCD_ENV_PATH": "/x",
        "ARGOCD_ENV_A": "web-1",
        "ARGOCD_APP_PARAMETERS": "null",
    }


def test_parameters_are_variables_one_by_one_and_together() -> None:
    parameters = [
        {"name": "a-b", "string": "$ARGOCD_APP_NAME"},
        {"name": "list", "array": ["x", "y"]},
        {"name": "map", "map": {"k.1": "v"}},
        {"name": "empty", "string": "", "array": [], "map": {}},
    ]
    found = variables({"parameters": parameters})
    assert json.loads(found.pop("ARGOCD_APP_PARAMETERS")) == parameters
    assert found == {
        **BUILD,
        "PARAM_A_B": "$ARGOCD_APP_NAME",
        "PARAM_LIST_0": "x",
        "PARAM_LIST_1": "y",
        "PARAM_MAP_K_1": "v",
        "PARAM_EMPTY": "",
    }


def test_without_a_block_there_is_the_build_environment_only() -> None:
    assert variables(None) == BUILD


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../x", "a..b", "-a", "a.", "a" * 300, "a\n"]
)
def test_a_name_stays_in_its_folder(name: str) -> None:
    assert not is_plugin_name(name)


@pytest.mark.parametrize("name", ["a", "cue-v1.0", "A_b.c-1"])
def test_names_with_versions_are_names(name: str) -> None:
    assert is_plugin_name(name)
