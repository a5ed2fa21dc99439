"""The cache of the project's former name is taken over once, with its control plane."""

from pathlib import Path

import pytest

from playground.toolchain import (
    CACHE_NAME,
    FORMER_CACHE_NAME,
    SAME_CONTROL_PLANE,
    cache_folder,
    control_plane_cache,
    find_control_plane,
)

BEFORE, AFTER = SAME_CONTROL_PLANE


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    return tmp_path


def former_control_plane(root: Path) -> Path:
    folder = root / FORMER_CACHE_NAME / "control-plane" / BEFORE / "bin"
    folder.mkdir(parents=True)
    (folder / "etcd").write_text("built before")
    return folder


def test_the_control_plane_of_the_former_cache_is_not_built_again(root: Path) -> None:
    former_control_plane(root)
    found = find_control_plane()
    assert found == root / CACHE_NAME / "control-plane" / AFTER / "bin"
    assert (found / "etcd").read_text() == "built before"


def test_the_fingerprint_is_the_one_that_the_former_build_is_linked_to(root: Path) -> None:
    assert control_plane_cache().parent.name == AFTER


def test_an_older_checkout_still_finds_its_build(root: Path) -> None:
    former = former_control_plane(root)
    cache_folder()
    assert (former / "etcd").read_text() == "built before"


def test_a_cache_of_the_present_name_is_left_alone(root: Path) -> None:
    former = former_control_plane(root)
    (root / CACHE_NAME).mkdir()
    assert cache_folder() == root / CACHE_NAME
    assert list((root / CACHE_NAME).iterdir()) == []
    assert not former.is_symlink()


def test_without_a_former_cache_nothing_is_made(root: Path) -> None:
    assert cache_folder() == root / CACHE_NAME
    assert list(root.iterdir()) == []
