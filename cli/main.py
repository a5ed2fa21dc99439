"""`gitops`: runs the command that was typed, and leaves with its code; `gitops version`."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

from cli.completion import answer
from cli.output import drop_output
from cli.verbs import GITOPS


def main() -> None:
    """Run the command and flush its output; a reader that has left is no failure."""
    output = sys.stdout
    try:
        code = _run(sys.argv[1:])
        output.flush()
        left = sys.stdout is not output  # Click has wrapped it, because its reader has left
    except BrokenPipeError:
        left, code = True, 0
    if left:
        drop_output(output)
    sys.exit(0 if left else code)


def _run(arguments: list[str]) -> int | str | None:
    """Run the command and return its exit code, also where a Typer leaves by SystemExit."""
    try:
        match arguments:
            case ["__complete", *words]:
                return answer(GITOPS, words)
            case _:
                return GITOPS.run(_spelt_out(arguments))
    except SystemExit as e:
        return e.code


def _spelt_out(arguments: list[str]) -> list[str]:
    """Replace `--version` by `version`, and `help WORDS` by `WORDS --help`."""
    match arguments:
        case ["--version", *rest]:
            return ["version", *rest]
        case ["help", *words]:
            return [*words, "--help"]
        case _:
            return arguments


_DISTRIBUTION = "plumbline"


def show_version() -> int:
    """Print one line, as `gitops --version` does."""
    try:
        own = version(_DISTRIBUTION)
    except PackageNotFoundError:
        own = "unknown (not installed as a package)"
    sys.stdout.write(f"gitops {own}\n")
    return 0
