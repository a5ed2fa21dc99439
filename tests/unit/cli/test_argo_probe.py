"""What `gitops agent check` says of Argo CD's settings and sets."""

from __future__ import annotations

from cli.local.cluster_probe import findings
from handlers.application.argo_settings import ArgoSettings, read_settings


def test_nothing_there_is_nothing_found() -> None:
    assert list(findings(ArgoSettings(), ())) == []


def test_a_setting_that_holds_syncs_is_not_well_and_one_that_is_only_told_is() -> None:
    found = list(
        findings(
            read_settings(
                {
                    "application.sync.impersonation.enforced": "true",
                    "kustomize.path.v5": "/k",
                }
            ),
            (),
        )
    )
    assert {one.ok for one in found if "impersonation" in one.found} == {False}
    assert {one.ok for one in found if "kustomize.path.v5" in one.found} == {True}


def test_application_sets_that_nobody_acts_on_are_named() -> None:
    (found,) = findings(ArgoSettings(), ("shops", "apis"))
    assert not found.ok
    assert "apis, shops" in found.found
