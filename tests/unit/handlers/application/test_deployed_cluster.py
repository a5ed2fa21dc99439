"""Whether the cluster that answers is the one that an Application was deployed to."""

from __future__ import annotations

import pytest

from bus.metadata_keys import DEPLOYED_TO
from handlers.application.deployed_cluster import deployed_to, replacement
from tests.unit.handlers.application.builders import application

EAST, WEST = "https://east.example", "https://west.example"


@pytest.mark.parametrize(
    ("written", "server", "uid", "is_other"),
    [
        pytest.param("u1 " + EAST, EAST, "u1", False, id="the same cluster"),
        pytest.param("u1 " + EAST, EAST, "u2", True, id="another cluster"),
        pytest.param("u1 " + EAST, EAST, "", False, id="a cluster that does not say"),
        pytest.param("u1 " + EAST, WEST, "u2", False, id="another destination"),
        pytest.param("", EAST, "u2", False, id="never deployed"),
        pytest.param("u1", EAST, "u2", False, id="half a record"),
    ],
)
def test_another_cluster_is_told_by_its_uid(
    written: str, server: str, uid: str, *, is_other: bool
) -> None:
    app = application(metadata={"annotations": {DEPLOYED_TO: written}})
    found = replacement(app, server, uid)

    assert bool(found) is is_other
    assert not is_other or (uid in found and DEPLOYED_TO in found)


def test_what_is_written_is_what_is_read() -> None:
    app = application(metadata={"annotations": dict(deployed_to(EAST, "u1"))})

    assert replacement(app, EAST, "u1") == ""
    assert replacement(app, EAST, "u2")
    assert deployed_to(EAST, "") == {}
