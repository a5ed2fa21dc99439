"""PluginSocket is where the plugin of a sidecar is asked; their folder is looked at each time.

The name of a socket is the name of its plugin, as Argo CD's plugin server makes it. Whoever may
write into the folder is trusted with what plugins are given: it belongs to the agent's own pod.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from handlers.application.plugin_source import is_plugin_name

SUFFIX = ".sock"
_MOST = 100


class PluginSocket(msgspec.Struct, frozen=True):
    name: str
    path: Path
    identity: str
    """Another one after the plugin was started again."""


def plugin_sockets(folder: Path | None) -> tuple[PluginSocket, ...]:
    """Find the sockets by name; none where the folder cannot be read. Links are no sockets."""
    if folder is None:
        return ()
    try:
        with os.scandir(folder) as entries:
            names = sorted(one.name for one in entries if one.name.endswith(SUFFIX))
    except OSError:
        return ()
    found = (_socket(folder / name) for name in names[:_MOST])
    return tuple(one for one in found if one is not None)


def _socket(path: Path) -> PluginSocket | None:
    name = path.name.removesuffix(SUFFIX)
    if not is_plugin_name(name):
        return None
    try:
        about = path.lstat()
    except OSError:
        return None
    if not stat.S_ISSOCK(about.st_mode):
        return None
    return PluginSocket(name, path, f"{about.st_ino}-{about.st_ctime_ns}")
