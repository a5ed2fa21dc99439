"""The plugins of an agent are made of its settings, for the agent itself and for its check."""

from __future__ import annotations

from agent.plugins.plugin_client import PluginClient
from agent.plugins.plugin_limits import PluginLimits
from agent.plugins.plugin_sidecars import PluginSidecars
from agent.settings import Settings


def opened_plugins(settings: Settings) -> PluginSidecars:
    chosen = settings.plugins
    limits = PluginLimits(
        parallel=chosen.parallel,
        deadline=chosen.deadline,
        match_deadline=chosen.match_deadline,
        repository_bytes=int(chosen.repository_bytes),
        output_bytes=int(chosen.output_bytes),
        exclude=chosen.exclude,
    )
    return PluginSidecars(
        folder=chosen.folder,
        client=PluginClient(chosen.binary),
        scratch=settings.state_dir,
        limits=limits,
    )
