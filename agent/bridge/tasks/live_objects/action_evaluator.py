"""ActionEvaluator says which actions an object has, and what one of them changes.

The actions are those of the built-in catalogue and the Lua scripts of `argocd-cm`, which go before
it. Scripts run in the sandbox, for a second at most, as in Argo CD.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from agent.bridge.tasks.task_context import TaskFailedError
from handlers.actions.action import ActionCall, ActionError, Changes
from handlers.actions.catalogue import actions_of
from handlers.actions.listing import (
    ActionOffer,
    DiscoveryError,
    discovered,
    joined_offers,
    offers,
)
from handlers.actions.script_changes import script_changes
from handlers.application.action_scripts import ActionScripts
from handlers.manifest import access
from handlers.manifest.access import Manifest
from sandbox.client import Evaluation, Sandbox, SandboxBusyError, SandboxError
from sandbox.client.evaluation import NoFiles

_SECONDS = 1.5
_MOST_PARAMS, _LONGEST = 20, 4096


class ActionTable(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of one object, and why those of `argocd-cm` are missing where they are."""

    actions: tuple[ActionOffer, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionEvaluator:
    sandbox: Sandbox
    scripts: Callable[[], ActionScripts]

    async def table(self, manifest: Manifest, project: str) -> ActionTable:
        """List the actions; a script of discovery that fails leaves the built-in ones."""
        own = self.scripts().of(access.group(manifest), access.kind(manifest))
        if own is None:
            return ActionTable(actions=offers(manifest))
        built_in = offers(manifest) if own.merges_built_in else ()
        if not own.discovery:
            return ActionTable(actions=built_in)
        try:
            found = discovered(await self._run(own.discovery, manifest, project))
        except (DiscoveryError, SandboxError) as error:
            problem = f"discovery.lua of {own.source}: {error}"[:1024]
            return ActionTable(actions=built_in, problem=problem)
        return ActionTable(actions=joined_offers(found, built_in))

    async def changes(
        self, manifest: Manifest, name: str, call: ActionCall, project: str
    ) -> Changes:
        """Work out what the action changes; raises ActionError."""
        _check_size(call)
        group, kind = access.group(manifest), access.kind(manifest)
        own = self.scripts().of(group, kind)
        script = own.script(name) if own is not None else None
        if own is not None and script is not None:
            params = dict(call.params)
            try:
                answer = await self._run(script, manifest, project, actionParams=params)
            except SandboxError as error:
                raise ActionError(f"action.lua of {name} in {own.source}: {error}") from error
            return script_changes(answer, manifest)
        for one in actions_of(group, kind):
            if one.name == name:
                return one.run(manifest, call)
        known = [one.name for one in own.definitions] if own is not None else []
        known += [one.name for one in actions_of(group, kind)]
        there = f"it has {', '.join(known)}" if known else "it has none"
        raise ActionError(f"{kind} has no action {name!r}; {there}")

    async def _run(
        self, script: str, manifest: Manifest, project: str, **globals_: object
    ) -> bytes:
        work = Evaluation(
            op="lua",
            params={"script": script, "useOpenLibs": False, "globals": globals_},
            body=msgspec.json.encode(manifest),
            files=NoFiles(),
            project=f"actions of {project}",
            only_try=_SECONDS,
        )
        try:
            return (await self.sandbox.run(work))[1]
        except SandboxBusyError as error:
            text = f"the action was not run: {error.message}; try again"
            raise TaskFailedError("unreachable", text) from error


def _check_size(call: ActionCall) -> None:
    too_long = [name for name, value in call.params.items() if len(name) + len(value) > _LONGEST]
    if too_long:
        raise ActionError(
            f"the parameter {too_long[0][:40]!r} is longer than {_LONGEST} characters"
        )
    if len(call.params) > _MOST_PARAMS:
        raise ActionError(f"{len(call.params)} parameters; the most is {_MOST_PARAMS}")
