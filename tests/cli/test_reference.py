"""docs/cli.md names every command, option and exit code there is."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import typer.core

from cli.lazy import Group, Verb
from cli.main import GITOPS
from cli.say import Exit

PAGE = (Path(__file__).parent.parent.parent / "docs" / "cli.md").read_text("utf-8")
MINE = frozenset({"events", "render", "diff", "health", "plan", "webhook", "check", "settings"})


def named(group: Group = GITOPS) -> Iterator[tuple[str, Verb]]:
    for name, verb in group.verbs.items():
        if isinstance(verb, Group):
            yield from named(verb)
        else:
            yield f"{group.name} {name}", verb


@pytest.mark.parametrize("command", [name for name, _ in named()])
def test_every_command_is_on_the_page(command: str) -> None:
    assert f"`{command}" in PAGE


@pytest.mark.parametrize(
    "module",
    [
        verb.module
        for name, verb in named()
        if name.split()[-1] in MINE and not verb.module.startswith("cli.far.")
    ],
)
def test_every_option_is_on_the_page(module: str) -> None:
    app: typer.Typer = importlib.import_module(module).app
    options = {
        option
        for command in app.registered_commands
        if command.callback is not None
        for hint in command.callback.__annotations__.values()
        for option in re.findall(r"--[a-z-]+", str(hint))
    }

    assert options <= set(re.findall(r"--[a-z-]+", PAGE)) | {"--file"}


@pytest.mark.parametrize(
    "module", sorted({verb.module for _, verb in named() if verb.module.startswith("cli.far.")})
)
def test_every_option_of_the_service_is_on_the_page(module: str) -> None:
    group = typer.main.get_command(importlib.import_module(module).app)
    assert isinstance(group, typer.core.TyperGroup)
    found = {
        option
        for command in group.commands.values()
        for parameter in command.params
        if parameter.param_type_name == "option"
        for option in parameter.opts
        if option.startswith("--")
    }

    assert found <= set(re.findall(r"--[a-z-]+", PAGE))


@pytest.mark.parametrize("code", list(Exit))
def test_every_exit_code_is_on_the_page(code: Exit) -> None:
    assert f"| {code.value} |" in PAGE
