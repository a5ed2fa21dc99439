from __future__ import annotations

from typing import Any

import orjson
import pytest

from agent.kube.errors import ConflictError, ForbiddenError, GoneError, NotFoundError, refusal
from handlers.ports import ApplyRefusedError


def status(message: str = "no", **details: Any) -> bytes:
    return orjson.dumps({"kind": "Status", "message": message, "details": details})


@pytest.mark.parametrize(
    ("code", "kind", "permanent"),
    [
        (400, ApplyRefusedError, True),
        (401, ApplyRefusedError, False),
        (403, ForbiddenError, True),
        (404, NotFoundError, False),
        (409, ConflictError, False),
        (410, GoneError, False),
        (422, ApplyRefusedError, True),
        (429, ApplyRefusedError, False),
        (500, ApplyRefusedError, False),
        (503, ApplyRefusedError, False),
    ],
)
def test_a_refusal_says_whether_it_may_pass(
    code: int,
    kind: type[ApplyRefusedError],
    permanent: bool,  # noqa: FBT001  a column of the table
) -> None:
    error = refusal(code, status())

    assert (type(error), error.code, error.permanent) == (kind, code, permanent)
    assert error.message == "no"


def test_a_namespace_on_its_way_out_passes() -> None:
    assert not refusal(403, status(causes=[{"reason": "NamespaceTerminating"}])).permanent


def test_a_conflict_names_each_manager_with_its_fields() -> None:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl" using apps/v1',
            "field": ".spec.replicas",
        },
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl" using apps/v1',
            "field": ".spec.paused",
        },
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "keda"',
            "field": ".metadata.labels.a",
        },
    ]

    error = refusal(409, status(causes=causes))

    assert error.permanent
    assert error.message == (
        'conflict with another field manager: "kubectl" owns .spec.replicas, .spec.paused; '
        '"keda" owns .metadata.labels.a'
    )


@pytest.mark.parametrize("what", ["create typed patch object (..): ..", "convert new object (..)"])
def test_a_malformed_object_stays_malformed(what: str) -> None:
    assert refusal(500, status(f"failed to {what}")).permanent


def test_the_page_of_a_proxy_becomes_a_short_message() -> None:
    error = refusal(502, b"<html>Bad Gateway</html>" + b"x" * 10_000)

    assert error.message.startswith("<html>Bad Gateway")
    assert len(error.message) < 300
