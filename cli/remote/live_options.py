"""The options of `gitops app actions|object`, which name one live object of an application."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import typer

from cli.remote import command_runner, task_client
from cli.remote.confirmation import YesOption

KindOption = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="Kind or Kind.group, as Deployment.apps.")
]
NameOption = Annotated[str, typer.Option("--name", help="The name of the object.")]
NamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--namespace", help="Else that of the application; '' for an object that has none."
    ),
]
PreviewOption = Annotated[
    bool, typer.Option("--preview", help="Show what it would change; order nothing.")
]


class ObjectOptions(Protocol):
    """The options that name one live object."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionsOptions:
    application: command_runner.AppArgument
    kind: KindOption
    name: NameOption
    namespace: NamespaceOption = None
    timeout: command_runner.TimeoutOption = "1m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRunOptions:
    application: command_runner.AppArgument
    kind: KindOption
    name: NameOption
    action: Annotated[str, typer.Option("--action", help="As gitops app actions list prints it.")]
    namespace: NamespaceOption = None
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="A parameter.")
    ] = None
    preview: PreviewOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectEditOptions:
    application: command_runner.AppArgument
    kind: KindOption
    name: NameOption
    file: Annotated[
        Path, typer.Option("--file", help="A JSON merge patch, in YAML or JSON.", dir_okay=False)
    ]
    namespace: NamespaceOption = None
    preview: PreviewOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectDeletionOptions:
    application: command_runner.AppArgument
    kind: KindOption
    name: NameOption
    namespace: NamespaceOption = None
    orphan: Annotated[bool, typer.Option("--orphan", help="Keep the objects that it owns.")] = False
    force: Annotated[bool, typer.Option("--force", help="Without a grace period.")] = False
    preview: PreviewOption = False
    yes: YesOption = False
    wait: task_client.WaitOption = False
    timeout: command_runner.TimeoutOption = "5m"
    context: command_runner.ContextOption = ""
    as_json: command_runner.JsonOption = False


ChangeOptions = ActionRunOptions | ObjectEditOptions | ObjectDeletionOptions
