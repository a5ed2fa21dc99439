"""Limits of config management plugins: what one is sent, may answer, and how long it may take."""

from __future__ import annotations

import msgspec

MEBIBYTE = 1 << 20


class PluginLimits(msgspec.Struct, frozen=True, kw_only=True):
    parallel: int = 4
    """Most calls of one plugin at once; the next ones come back later."""
    deadline: float = 90.0
    """Seconds of one render."""
    match_deadline: float = 15.0
    """Seconds in which a plugin says whether it recognises a source."""
    check_deadline: float = 5.0
    """Seconds in which a plugin says how it is configured."""
    patience: float = 2.0
    """Seconds that a call waits for its turn before it comes back later."""
    repository_bytes: int = 256 * MEBIBYTE
    """Of all files that a plugin is sent."""
    repository_files: int = 100_000
    output_bytes: int = 32 * MEBIBYTE
    exclude: tuple[str, ...] = ()
    """Patterns of paths that no plugin is sent, with `*` for a part between slashes."""
    overrun_seconds: float = 600.0
    """How long a render that was not done in time is refused without another try."""
    failing_seconds: float = 30.0
    """How long a plugin that did not answer is not asked again what it recognises."""
