"""What a put over the link makes of a Secret that is there."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agent.bridge.tasks.executors.connection_secret import TYPES, ConnectionIdentity
from agent.bridge.tasks.executors.connections import changed, name_of
from agent.git.credentials import SECRET_TYPE
from bus.link import PutArguments
from handlers.control_plane.governance import GOVERNED
from handlers.manifest import access

REPO = PutArguments(kind="Repository", url="https://git.example/team/apps", project="team")
CLUSTER = PutArguments(kind="Cluster", spec={"server": "https://prod.example:6443"})


def secret(name: str, args: PutArguments) -> dict[str, Any]:
    """A Secret without the mark, as a person writes it, and as earlier versions did."""
    values = {"url": args.url, "project": args.project, **args.spec}
    data = {key: base64.b64encode(one.encode()).decode() for key, one in values.items() if one}
    labels = {SECRET_TYPE: TYPES[args.kind]}
    return {"metadata": {"name": name, "labels": labels}, "data": data}


@pytest.mark.parametrize(
    ("args", "name", "marked"),
    [
        (REPO, name_of(ConnectionIdentity.of(REPO)), True),
        (REPO, "apps-of-team", False),
        (CLUSTER, name_of(ConnectionIdentity.of(CLUSTER)), False),
    ],
    ids=["repository of the link", "of a person", "cluster"],
)
def test_a_repository_that_an_earlier_version_put_gets_its_mark(
    args: PutArguments, name: str, *, marked: bool
) -> None:
    found = changed(secret(name, args), args, ConnectionIdentity.of(args), {})
    assert (GOVERNED in access.annotations(found)) is marked
