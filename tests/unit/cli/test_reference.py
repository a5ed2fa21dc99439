"""docs/cli.md names every command, option and exit code there is; the reference is made of them."""

from __future__ import annotations

import importlib
import re

import pytest
import typer
import typer.core

from cli.document import page, verbs
from cli.output import Exit
from cli.verbs import GITOPS
from tests.paths import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGE = (DOCS / "cli.md").read_text("utf-8")
MINE = frozenset({"events", "render", "diff", "health", "plan", "webhook", "check", "settings"})


COMMANDS = tuple(verbs(GITOPS))


def test_the_reference_is_fresh() -> None:
    made = (DOCS / "cli-reference.md").read_text("utf-8")
    assert made == page(), "run: make docs"


@pytest.mark.parametrize("name", [name for name, verb in COMMANDS if "cli.remote." in verb.module])
def test_every_command_that_asks_the_service_tells_its_exit_codes(name: str) -> None:
    (section,) = [it for it in page().split("\n## ") if it.startswith((f"`{name}`", f"`{name} "))]
    assert "Exit codes: 0 " in section


@pytest.mark.parametrize("command", [name for name, _ in COMMANDS])
def test_every_command_is_on_the_page(command: str) -> None:
    assert f"`{command}" in PAGE


@pytest.mark.parametrize(
    "module",
    [
        verb.module
        for name, verb in COMMANDS
        if name.split()[-1] in MINE and not verb.module.startswith("cli.remote.")
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
    "module", sorted({verb.module for _, verb in COMMANDS if verb.module.startswith("cli.remote.")})
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
