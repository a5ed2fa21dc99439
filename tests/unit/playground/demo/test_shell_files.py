"""The folder of a demo: whose it is, and what is said of one that has ended."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from playground.demo.shell_files import ShellFiles, make_folder, running_info


def folder_of(process: int, tmp_path: Path) -> ShellFiles:
    files = ShellFiles(tmp_path / ".demo")
    make_folder(files, tmp_path / "kubeconfig")
    files.owner.write_text(str(process))
    files.info.write_text("Addresses\n")
    return files


def test_a_running_demo_is_told_of(tmp_path: Path) -> None:
    assert running_info(folder_of(os.getpid(), tmp_path).folder) == "Addresses\n"


def test_a_demo_that_was_killed_is_not_told_of_and_its_folder_is_taken_over(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    files = folder_of(ended.pid, tmp_path)
    assert running_info(files.folder) is None
    make_folder(files, tmp_path / "kubeconfig")
    assert files.owner.read_text() == str(os.getpid())
    assert not files.info.exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / ".demo"
    folder.mkdir()
    (folder / "mine").touch()
    with pytest.raises(FileExistsError, match="was made by no demo"):
        make_folder(ShellFiles(folder), tmp_path / "kubeconfig")
    assert (folder / "mine").exists()


@pytest.mark.parametrize("shell", ["env", "env.fish"])
def test_names_with_spaces_are_quoted(tmp_path: Path, shell: str) -> None:
    folder = tmp_path / "my demos"
    folder.mkdir()
    files = ShellFiles(folder / ".demo")
    make_folder(files, folder / "kubeconfig")
    assert f"'{folder}/kubeconfig'" in (files.folder / shell).read_text()
