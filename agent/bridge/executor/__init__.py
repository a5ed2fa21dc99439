"""One module for each kind of task. What they return is redacted by the desk."""

from __future__ import annotations

from collections.abc import Mapping

from agent.bridge.doing import Executor
from agent.bridge.executor.commands import Commands
from agent.bridge.executor.tools import Tools
from bus.link import TaskKind


def executors(tools: Tools) -> Mapping[TaskKind, Executor]:
    """Everything that this version can do."""
    commands = Commands(tools)
    return {
        TaskKind.SYNC: commands.sync,
        TaskKind.ROLLBACK: commands.rollback,
        TaskKind.REFRESH: commands.refresh,
        TaskKind.TERMINATE: commands.terminate,
    }
