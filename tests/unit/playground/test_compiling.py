import subprocess
import threading
from pathlib import Path

import pytest

from playground.compiling import Build, BuildError, BuildStep, Progress, run_builds

GOOD = 'package main\n\nfunc main() { println("built") }\n'
BAD = "package main\n\nfunc main() { nonsense() }\n"


def build(folder: Path, source: str) -> Build:
    module = folder / "module"
    module.mkdir(exist_ok=True)
    (module / "go.mod").write_text("module example.test/small\n\ngo 1.24\n")
    (module / "main.go").write_text(source)
    step = BuildStep(program="small", seconds=2, module=module, package=".")
    return Build(folder=folder / "cache" / "small", steps=(step,))


def test_a_program_is_built_and_runs(tmp_path: Path) -> None:
    target = build(tmp_path, GOOD)
    run_builds([target], lambda _: None)
    ran = subprocess.run([target.folder / "small"], capture_output=True, check=True)
    assert ran.stderr == b"built\n"


def test_what_is_built_is_not_built_again(tmp_path: Path) -> None:
    target = build(tmp_path, GOOD)
    run_builds([target], lambda _: None)
    before = (target.folder / "small").stat().st_ino
    run_builds([target], lambda _: None)
    assert (target.folder / "small").stat().st_ino == before


def test_a_failed_build_says_what_the_compiler_said_and_leaves_nothing(tmp_path: Path) -> None:
    target = build(tmp_path, BAD)
    with pytest.raises(BuildError, match="undefined: nonsense"):
        run_builds([target], lambda _: None)
    assert [file.name for file in target.folder.parent.iterdir()] == ["small.lock"]


def test_the_progress_ends_with_nothing_left(tmp_path: Path) -> None:
    seen: list[Progress] = []
    run_builds([build(tmp_path, GOOD)], seen.append)
    assert [it.done for it in seen] == sorted(it.done for it in seen)
    assert any(it.activity == "building small" for it in seen)
    assert seen[-1].left == 0


def test_two_that_build_the_same_share_one_build(tmp_path: Path) -> None:
    target = build(tmp_path, GOOD)
    compiled: list[str] = []

    def watch(progress: Progress) -> None:
        if progress.activity == "looking for Go":
            compiled.append(progress.activity)

    threads = [threading.Thread(target=run_builds, args=([target], watch)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1
    assert (target.folder / "small").exists()
