"""One module for each kind of task. What they return is redacted by the desk."""

from __future__ import annotations

from collections.abc import Mapping

from agent.bridge.doing import Executor
from agent.bridge.executor.commands import Commands
from agent.bridge.executor.events import Events
from agent.bridge.executor.pods import Pods
from agent.bridge.executor.put import Objects
from agent.bridge.executor.reads import Reads
from agent.bridge.executor.refs import Refs
from agent.bridge.executor.tools import Tools
from agent.bridge.executor.tree import Tree
from bus.link import TaskKind


def executors(tools: Tools) -> Mapping[TaskKind, Executor]:
    """Everything that this version can do."""
    commands, reads, objects = Commands(tools), Reads(tools), Objects(tools)
    events, pods = Events(tools), Pods(tools)
    return {
        TaskKind.SYNC: commands.sync,
        TaskKind.ROLLBACK: commands.rollback,
        TaskKind.REFRESH: commands.refresh,
        TaskKind.TERMINATE: commands.terminate,
        TaskKind.PUT: objects.put,
        TaskKind.DELETE: objects.delete,
        TaskKind.REFS: Refs(tools),
        TaskKind.MANIFESTS: reads.manifests,
        TaskKind.DIFF: reads.diff,
        TaskKind.LIVE: reads.live,
        TaskKind.TREE: Tree(tools),
        TaskKind.EVENTS: events.recent,
        TaskKind.EVENT_STREAM: events.follow,
        TaskKind.LOGS: pods.logs,
    }
