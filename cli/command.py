"""Commands with one style of help and usage, and the names of their parameters.

Typer shows types of Python (`<list[str]>`) and marks what is required in its own way; here the help
of a verb looks like the list of verbs, and like docs/cli-reference.md, which is made from the same.
"""

from __future__ import annotations

import importlib
from enum import StrEnum
from typing import Any

import typer
import typer.main
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from cli.examples import examples_of
from cli.help_layout import paragraphs, terms, width
from cli.lazy import LazyVerb


class PlainCommand(TyperCommand):
    """A command with the layout of help and usage that all of `gitops` has."""

    def get_usage(self, ctx: Any) -> str:
        words = (usage_of(it) for it in arguments_of(self))
        return " ".join(("Usage:", ctx.command_path, "[OPTIONS]", *words))

    def get_help(self, ctx: Any) -> str:
        columns = width()
        arguments = [(usage_of(it), meaning_of(it)) for it in arguments_of(self)]
        options = [(option_name(it), meaning_of(it)) for it in options_of(self)]
        parts = (
            self.get_usage(ctx),
            paragraphs(self.help or "", columns),
            terms("Arguments", arguments, columns),
            terms("Options", [*options, ("--help", "Show this help.")], columns),
            paragraphs(self.epilog or "", columns),
            examples_of(ctx.command_path),
        )
        return "\n\n".join(filter(None, parts)).rstrip("\n")


class _Commands(typer.Typer):
    def command(self, name: str | None = None, **settings: Any) -> Any:
        return super().command(name, cls=PlainCommand, **settings)


def new_app() -> typer.Typer:
    """An empty Typer for one command."""
    return _Commands(add_completion=False, pretty_exceptions_enable=False)


def new_group() -> typer.Typer:
    """An empty Typer whose commands are named, also where there is only one."""
    made = new_app()
    made.callback()(_nothing)
    return made


def _nothing() -> None:
    """Run one of the verbs of this group."""


def command_of(verb: LazyVerb) -> TyperCommand | None:
    """Get the command of a verb; None for a verb that takes no parameters."""
    if verb.function:
        return None
    found = typer.main.get_command(importlib.import_module(verb.module).app)
    if isinstance(found, TyperGroup):
        found = found.commands[verb.command]
    assert isinstance(found, TyperCommand)
    return found


def arguments_of(command: TyperCommand) -> list[TyperArgument]:
    return [it for it in command.params if isinstance(it, TyperArgument)]


def options_of(command: TyperCommand) -> list[TyperOption]:
    return [it for it in command.params if isinstance(it, TyperOption) and it.name != "help"]


def usage_of(it: TyperArgument) -> str:
    """`APP`, or `[WORD]` where it may be left out."""
    word = value_word(it)
    dots = "..." if it.nargs != 1 and not word.endswith("...") else ""
    return f"{word}{dots}" if it.required or word.startswith("[") else f"[{word}{dots}]"


def option_name(it: TyperOption) -> str:
    """Name an option: `--file, -f FILE`, or `--format yaml|json` where it has choices."""
    names = ", ".join(it.opts)
    if it.is_flag:
        return names
    return f"{names} {it.metavar or '|'.join(choices_of(it)) or value_word(it)}"


def value_word(it: TyperOption | TyperArgument) -> str:
    """Name the value of a parameter: `APP`, `FILE`, or the last word of the parameter's name."""
    name = max(it.opts, key=len) if isinstance(it, TyperOption) else it.name or ""
    return it.metavar or name.rpartition("-")[2].upper()


def choices_of(it: TyperOption | TyperArgument) -> tuple[str, ...]:
    kind = it.type_descriptor.annotation
    is_choice = isinstance(kind, type) and issubclass(kind, StrEnum)
    return tuple(map(str, kind)) if is_choice else ()


def meaning_of(it: TyperOption | TyperArgument) -> str:
    is_flag = isinstance(it, TyperOption) and it.is_flag
    shown = it.default if isinstance(it.default, str | int) and not is_flag else ""
    default = f"Default: {shown}." if shown not in ("", None) else ""
    required = "Required." if it.required and isinstance(it, TyperOption) else ""
    return " ".join(filter(None, (it.help or "", required or default)))
