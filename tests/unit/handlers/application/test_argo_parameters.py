"""What `argocd-cmd-params-cm` says: what changes the outcome is told, the rest concerns nobody."""

from __future__ import annotations

import pytest

from handlers.application.argo_parameters import PARAMETERS, ROWS
from handlers.application.argo_settings import ArgoSettings, read_settings

REPORTED = {
    "ApplicationSets elsewhere": {"applicationsetcontroller.namespaces": "team-*"},
    "another comparison": {"controller.diff.server.side": "true"},
    "an end of syncs": {"controller.sync.timeout.seconds": "600"},
    "patience with repositories": {"controller.repo.error.grace.period.seconds": "180"},
}


@pytest.mark.parametrize("parameters", REPORTED.values(), ids=REPORTED)
def test_what_changes_the_outcome_is_told_and_holds_nothing(parameters: dict[str, str]) -> None:
    settings = read_settings({}, parameters)
    (key,) = parameters
    (found,) = settings.unsupported
    assert found.field == f"{key} of {PARAMETERS}"
    assert settings.harmful == ()


def test_defaults_and_what_tunes_the_processes_of_argo_cd_are_not_told() -> None:
    parameters = {
        "controller.diff.server.side": "false",
        "controller.sync.timeout.seconds": "0",
        "controller.status.processors": "50",
        "server.insecure": "true",
    }
    assert read_settings({}, parameters) == ArgoSettings()


def test_both_config_maps_are_told_together() -> None:
    settings = read_settings({"kustomize.path.v5": "/k"}, {"controller.diff.server.side": "true"})
    assert {found.field.rpartition(" of ")[2] for found in settings.unsupported} == {
        "argocd-cm",
        PARAMETERS,
    }


def test_every_row_says_what_follows() -> None:
    assert all(row.key and row.consequence for row in ROWS)
    assert len({row.key for row in ROWS}) == len(ROWS)
