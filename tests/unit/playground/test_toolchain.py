from pathlib import Path

import pytest

from playground.build import build_sandbox, control_plane_build, ignore_progress
from playground.toolchain import PROGRAMS, find_control_plane, fingerprint


def programs(folder: Path, kubernetes: str) -> Path:
    versions = {"etcd": "etcd Version: 3.6.8", "kwok": "kwok version v0.8.0 go1.26.0 (linux/amd64)"}
    folder.mkdir()
    for name in PROGRAMS:
        file = folder / name
        file.write_text(f"#!/bin/sh\necho '{versions.get(name, f'Kubernetes {kubernetes}')}'\n")
        file.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


def test_assets_whose_versions_fit_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = programs(tmp_path / "assets", "v1.36.1")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    assert find_control_plane() == folder


def test_assets_that_are_too_old_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(programs(tmp_path / "assets", "v1.28.0")))
    assert find_control_plane() is None


def test_an_incomplete_set_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = programs(tmp_path / "assets", "v1.36.1")
    (folder / "kube-scheduler").unlink()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    assert find_control_plane() is None


def test_programs_on_path_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = programs(tmp_path / "bin", "v1.36.1")
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    assert find_control_plane() == folder


def test_the_own_build_is_found_when_it_is_there() -> None:
    folder = control_plane_build().folder
    folder.mkdir(parents=True)
    assert find_control_plane() == folder


def test_the_variable_overrides_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITOPS_SANDBOX_BINARY", str(tmp_path / "mine"))
    assert build_sandbox(ignore_progress) == tmp_path / "mine"


def test_a_changed_file_changes_the_fingerprint(tmp_path: Path) -> None:
    file = tmp_path / "a.go"
    file.write_text("one")
    before = fingerprint([file], tmp_path)
    file.write_text("two")
    assert fingerprint([file], tmp_path) != before
