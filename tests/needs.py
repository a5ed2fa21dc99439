"""What a test needs beside Python, derived from its fixtures and from theirs.

The needs become markers (`needs_nats`), so that tests can be chosen by them, and they decide how
the tests are divided among several processes. No marker of this kind is written by hand: a test
that starts its servers itself takes the fixture `own_servers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

FIXTURES: Mapping[str, frozenset[str]] = {
    "needs_browser": frozenset({"browser", "scene"}),
    "needs_cluster": frozenset({"control_plane_binaries"}),
    "needs_git": frozenset({"git_host", "own_git_host"}),
    "needs_gnupg": frozenset({"signers"}),
    "needs_images": frozenset({"images"}),
    "needs_nats": frozenset({"nats_url", "own_nats"}),
    "needs_plugins": frozenset({"plugin_client_binary", "plugin_server_binary"}),
    "needs_postgres": frozenset({"postgres_url"}),
    "needs_redis": frozenset({"redis_url"}),
    "needs_registry": frozenset({"registry_binary"}),
    "needs_sandbox": frozenset({"sandbox_binary"}),
    "needs_servers": frozenset({"own_servers"}),
    "needs_whole_cluster": frozenset({"whole_cluster"}),
}
"""Who takes one of these fixtures has the need."""
MARKERS = (
    "needs_browser: drives a browser",
    "needs_cluster: uses a Kubernetes control plane",
    "needs_git: uses a Git host",
    "needs_gnupg: signs with GnuPG",
    "needs_images: builds the container images",
    "needs_nats: uses a NATS server",
    "needs_plugins: starts config management plugins",
    "needs_postgres: uses PostgreSQL",
    "needs_redis: uses Redis",
    "needs_registry: starts an OCI registry",
    "needs_sandbox: starts the sandbox's worker",
    "needs_servers: starts servers by its own hand",
    "needs_whole_cluster: makes what has one name in the whole cluster",
    "needs_nothing: none of these",
)
_SECONDS: Mapping[str, float] = {
    "needs_browser": 4,
    "needs_cluster": 4,
    "needs_images": 60,
    "needs_nats": 0.5,
    "needs_postgres": 0.8,
    "needs_sandbox": 0.2,
    "needs_servers": 10,
}
"""About what a test with this need takes; only the order of the groups depends on it."""
_SECONDS_OF_ANY = 0.02
_PART_OF_A_TIMEOUT = 0.2
"""A test with a timeout of its own takes long, and about this part of it."""
_SHARED_SCOPES = frozenset({"class", "module", "package"})
_NEEDED_ONCE = ("needs_images", "needs_browser", "needs_whole_cluster")
"""Not to be met in several processes: the images and the scene of the browser tests are too dear,
and the cluster is one for all."""


def needs_of(fixtures: Collection[str]) -> frozenset[str]:
    """Name the markers of a test that takes these fixtures."""
    return frozenset(need for need, those in FIXTURES.items() if not those.isdisjoint(fixtures))


def group_of(test: str, needs: Collection[str], scopes: Collection[str]) -> str:
    """Name the group of a test: a group runs in one process, one test after the other.

    `scopes` are those of the test's fixtures: one that a file shares holds its tests together.
    Quick tests stay together too: telling another process to begin costs more than most of them.
    """
    if once := next((need for need in _NEEDED_ONCE if need in needs), ""):
        return once
    alone = "needs_cluster" in needs and _SHARED_SCOPES.isdisjoint(scopes)
    return test if alone else test.partition("::")[0]


def seconds_of(needs: Collection[str], timeout: float = 0) -> float:
    """Estimate what a test takes; `timeout` is its own, 0 where it has none."""
    known = _SECONDS_OF_ANY + sum(_SECONDS.get(need, 0) for need in needs)
    return max(known, timeout * _PART_OF_A_TIMEOUT)


def longest_first(tests: Sequence[tuple[str, float]]) -> list[int]:
    """Order tests, each given by its group and its seconds, so that no long group comes last.

    Returns their positions. The tests of a group keep their order.
    """
    total: Counter[str] = Counter()
    for group, seconds in tests:
        total[group] += seconds
    place = {group: number for number, (group, _) in enumerate(total.most_common())}
    return sorted(range(len(tests)), key=lambda position: place[tests[position][0]])
