"""Groups of verbs whose modules are imported when a verb is called, not when it is listed.

`gitops --help` shall answer at once, and one command shall not pay for the libraries of another.
So the first words are looked up in a table; what follows belongs to the Typer of the verb's module.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cli.examples import examples_of
from cli.help_layout import paragraphs, terms, width

_HELP = frozenset({"-h", "--help"})
USAGE_ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyVerb:
    """A verb whose work is `app` in `module`: a Typer, or a function without parameters.

    `command`: the one of that Typer, where the module has several verbs of a group.
    """

    module: str
    summary: str
    function: str = ""
    command: str = ""

    def run(self, name: str, arguments: Sequence[str]) -> int:
        found = importlib.import_module(self.module)
        if not self.function:
            self._call(found.app, name, arguments)
            return 0
        if not arguments:
            code: int = getattr(found, self.function)()
            return code
        asked = arguments[0] in _HELP
        usage = f"Usage: {name}\n\n{self.summary}\n\n{examples_of(name)}"
        (sys.stdout if asked else sys.stderr).write(usage)
        return 0 if asked else USAGE_ERROR

    def _call(self, app: Any, name: str, arguments: Sequence[str]) -> None:
        """A Typer leaves by SystemExit."""
        program, words = name, list(arguments)
        if self.command:
            program, words = name.removesuffix(f" {self.command}"), [self.command, *arguments]
        app.rich_markup_mode = None  # errors without frames, as the help is
        app(args=words, prog_name=program)


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyGroup:
    """A group of verbs; `name` is the group as it is typed, e.g. `gitops agent`."""

    name: str
    summary: str
    verbs: Mapping[str, LazyVerb | LazyGroup]
    notes: str = ""

    def run(self, arguments: Sequence[str]) -> int:
        """Run a verb and return its exit code; the verb's own Typer leaves by SystemExit."""
        first, *rest = [*arguments] or ["--help"]
        if first in _HELP:
            sys.stdout.write(self.help())
            return 0
        found = self.verbs.get(first)
        match found:
            case None:
                sys.stderr.write(self._unknown(first))
                return USAGE_ERROR
            case LazyGroup():
                return found.run(rest)
            case LazyVerb():
                return found.run(f"{self.name} {first}", rest)

    def help(self) -> str:
        columns = width()
        rows = [(name, verb.summary) for name, verb in self.verbs.items()]
        parts = (
            f"Usage: {self.name} COMMAND [OPTIONS] [ARGUMENTS]",
            paragraphs(self.summary, columns),
            terms("Commands", rows, columns),
            paragraphs(self.notes, columns),
            examples_of(self.name),
        )
        return "\n\n".join(filter(None, parts)).rstrip("\n") + "\n"

    def _unknown(self, word: str) -> str:
        similar = difflib.get_close_matches(word, self.verbs, n=1)
        hint = f"; did you mean {similar[0]}?" if similar else ""
        return f"{self.name}: no command {word!r}{hint}\nTry: {self.name} --help\n"
