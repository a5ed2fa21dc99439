"""Groups of verbs whose modules are imported when they are called, not when they are listed.

`gitops --help` shall answer at once, and one command shall not pay for the libraries of another.
So the first words are looked up in a table; what follows belongs to the Typer of the verb's module.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cli.examples import examples_of

_HELP = frozenset({"-h", "--help"})
USAGE_ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """What it does is `app`, a Typer in `module`, or a function there that takes nothing.

    `command`: the one of that Typer, where the module has several verbs of a group.
    """

    module: str
    summary: str
    function: str = ""
    command: str = ""

    def run(self, name: str, arguments: Sequence[str]) -> int:
        found = importlib.import_module(self.module)
        if not self.function:
            found.app.rich_markup_mode = None  # one style of help, that of our own groups
        if not self.function:
            self._call(found.app, name, arguments)
            return 0
        if not arguments:
            code: int = getattr(found, self.function)()
            return code
        asked = arguments[0] in _HELP
        usage = f"Usage: {name}\n\n{self.summary}\n"
        (sys.stdout if asked else sys.stderr).write(usage)
        return 0 if asked else USAGE_ERROR

    def _call(self, app: Callable[..., object], name: str, arguments: Sequence[str]) -> None:
        """A Typer leaves by SystemExit; where it has shown its help, examples follow."""
        program, words = name, list(arguments)
        if self.command:
            program, words = name.removesuffix(f" {self.command}"), [self.command, *arguments]
        try:
            app(args=words, prog_name=program)
        except SystemExit as e:
            if e.code == 0 and "--help" in arguments:
                sys.stdout.write(examples_of(name))
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """`name` as it is typed, e.g. `gitops agent`."""

    name: str
    summary: str
    verbs: Mapping[str, Verb | Group]
    notes: str = ""

    def run(self, arguments: Sequence[str]) -> int:
        """The exit code; a verb's own Typer leaves by SystemExit."""
        first, *rest = [*arguments] or ["--help"]
        if first in _HELP:
            sys.stdout.write(self.help())
            return 0
        found = self.verbs.get(first)
        match found:
            case None:
                sys.stderr.write(self._unknown(first))
                return USAGE_ERROR
            case Group():
                return found.run(rest)
            case Verb():
                return found.run(f"{self.name} {first}", rest)

    def help(self) -> str:
        width = max(map(len, self.verbs)) + 2
        rows = [f"  {name:<{width}}{verb.summary}" for name, verb in self.verbs.items()]
        usage = f"Usage: {self.name} COMMAND [OPTIONS] [ARGUMENTS]"
        parts = [usage, self.summary, "Commands:\n" + "\n".join(rows), self.notes]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _unknown(self, word: str) -> str:
        near = difflib.get_close_matches(word, self.verbs, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        return f"{self.name}: no command {word!r}{meant}\nTry: {self.name} --help\n"
