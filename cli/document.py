"""Writes docs/cli-reference.md: every command with its options and exit codes, from the commands.

    python -m cli.document > docs/cli-reference.md

What commands are for, and how they belong together, stands in docs/cli.md, written by people.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from enum import StrEnum

import typer.main
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from cli.lazy import Group, Verb
from cli.main import GITOPS

_HEAD = """# Reference of the command line

<!-- Made by `make docs` from cli/. Do not edit. -->

What the commands are for stands in [cli.md](cli.md), with the exit codes of all of them.
"""


def page() -> str:
    sections = (it for name, verb in verbs(GITOPS) for it in _sections(name, verb))
    return "\n".join((_HEAD, *sections))


def verbs(group: Group) -> Iterator[tuple[str, Verb]]:
    """Every command by what one types, in the order of the help."""
    for word, found in group.verbs.items():
        match found:
            case Group():
                yield from verbs(found)
            case Verb():
                yield f"{group.name} {word}", found


def _sections(name: str, verb: Verb) -> Iterator[str]:
    """One, or one for each command of a group that has its own."""
    if verb.function:
        yield f"## `{name}`\n\n{verb.summary}\n"
        return
    found = typer.main.get_command(importlib.import_module(verb.module).app)
    if not isinstance(found, TyperGroup):
        assert isinstance(found, TyperCommand)
        yield _section(name, found)
        return
    for word, command in found.commands.items():
        assert isinstance(command, TyperCommand)
        if not verb.command:
            yield _section(f"{name} {word}", command)
        elif word == verb.command:
            yield _section(name, command)


def _section(name: str, command: TyperCommand) -> str:
    arguments = [it for it in command.params if isinstance(it, TyperArgument)]
    options = [it for it in command.params if isinstance(it, TyperOption) and it.name != "help"]
    usage = " ".join((name, *(_argument(it) for it in arguments)))
    parts = (f"## `{usage}`", command.help or "", _table(options), command.epilog or "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _argument(it: TyperArgument) -> str:
    word = it.metavar or (it.name or "").upper()
    optional = not it.required and not word.startswith("[")
    return f"[{word}]" if optional else word


def _table(options: list[TyperOption]) -> str:
    if not options:
        return ""
    rows = (f"| `{_option(it)}` | {_meaning(it)} |" for it in options)
    return "\n".join(("| Option | Meaning |", "|---|---|", *rows))


def _option(it: TyperOption) -> str:
    names = ", ".join(it.opts)
    if it.is_flag:
        return names
    kind = it.type_descriptor.annotation
    choices = kind if isinstance(kind, type) and issubclass(kind, StrEnum) else ()
    words = "\\|".join(choices)
    return f"{names} {it.metavar or words or names.rpartition('-')[2].upper()}"


def _meaning(it: TyperOption) -> str:
    said = (it.help or "").replace("|", "\\|")
    shown = it.default if isinstance(it.default, str | int) and not it.is_flag else ""
    more = (
        " Required." if it.required else f" Default: `{shown}`." if shown not in ("", None) else ""
    )
    return said + more


if __name__ == "__main__":
    sys.stdout.write(page())
