from __future__ import annotations

import pytest

from handlers.application.argo_settings import read_settings
from handlers.application.tool_settings import BUILD_OPTIONS, BuildOptions, read_tools


@pytest.mark.parametrize(
    ("written", "build"),
    [
        ("", BuildOptions()),
        ("--load-restrictor LoadRestrictionsNone", BuildOptions(load_restrictor="none")),
        ("--load-restrictor=LoadRestrictionsNone", BuildOptions(load_restrictor="none")),
        ("--load-restrictor LoadRestrictionsRootOnly", BuildOptions()),
        (
            "--reorder legacy --enable-managedby-label",
            BuildOptions(reorder="legacy", managed_by_label=True),
        ),
        (
            "--enable-managedby-label --reorder=none",
            BuildOptions(reorder="none", managed_by_label=True),
        ),
        ("--enable-helm", BuildOptions(enable_helm=True)),
    ],
)
def test_options_that_say_how_to_build_are_read(written: str, build: BuildOptions) -> None:
    found = read_tools({BUILD_OPTIONS: written})
    assert (found.build, found.left_out) == (build, ())


@pytest.mark.parametrize(
    "written",
    [
        "--enable-exec",
        "--enable-alpha-plugins",
        "--network",
        "--helm-command /bin/sh",
        "--load-restrictor none",
        "--reorder",
        "-o /tmp/x",
        "'unclosed",
        "x" * 2000,
    ],
)
def test_every_other_option_is_told_and_changes_nothing(written: str) -> None:
    settings = read_settings({BUILD_OPTIONS: f"{written}"})
    (found,) = settings.unsupported
    assert settings.tools.build == BuildOptions()
    assert found.field.startswith(f"{BUILD_OPTIONS}: ")
    assert len(found.field) < 200
    assert not found.harmful


def test_what_is_safe_beside_what_is_not_is_acted_on() -> None:
    found = read_tools({BUILD_OPTIONS: "--enable-exec --load-restrictor LoadRestrictionsNone"})
    assert found.build == BuildOptions(load_restrictor="none")
    assert [place for place, _ in found.left_out] == [f"{BUILD_OPTIONS}: --enable-exec"]


def test_jsonnet_is_switched_off_by_its_key() -> None:
    assert read_tools({"jsonnet.enable": "false"}).disabled == {"Jsonnet"}
    assert read_tools({"jsonnet.enable": "true"}).disabled == frozenset()
