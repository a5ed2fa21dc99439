"""GoProgram is a program of one module of Go, built once into a cache folder.

The folder is named after the sources, so a change builds anew and nothing else does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from playground.compiling import Build, BuildStep, Watcher, run_builds
from playground.toolchain import cache_folder, fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class GoProgram:
    name: str
    folder: str
    """Its place in the cache."""
    module: Path
    seconds: float
    """How long a build takes, as seen on two cores with an empty cache."""
    package: str = "."
    variable: str = ""
    """Names a program that was built elsewhere, in the environment."""

    def built(self, watch: Watcher) -> Path:
        """The program, built if it is missing."""
        if configured := self._configured:
            return Path(configured)
        build = self.build()
        if not build.folder.is_dir():
            run_builds((build,), watch)
        return build.folder / self.name

    def needed(self) -> tuple[Build, ...]:
        """Its build; nothing where the environment names a program."""
        return () if self._configured else (self.build(),)

    def build(self) -> Build:
        files = (file for file in self.module.rglob("*") if file.is_file())
        sources = sorted(file for file in files if _is_source(file.relative_to(self.module)))
        step = BuildStep(
            program=self.name, seconds=self.seconds, module=self.module, package=self.package
        )
        folder = cache_folder() / self.folder / fingerprint(sources, self.module)
        return Build(folder=folder, steps=(step,))

    @property
    def _configured(self) -> str:
        return os.environ.get(self.variable, "") if self.variable else ""


def _is_source(file: Path) -> bool:
    return not file.name.endswith("_test.go") and "testdata" not in file.parts
