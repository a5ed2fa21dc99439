"""What a project demands of sources, and that a demand which nobody understands is one too."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NoReturn

import pytest

from bus.identity import Digest
from handlers.application.application import AppProject
from handlers.ports.render_record import RenderRecord
from handlers.ports.rendering import RenderError
from handlers.render.source_proof import SourceProver
from tests.unit.handlers.application.builders import application, project

NOBODY: dict[str, Any] = {"git": {"policies": [{"repos": [{"url": "*"}], "gpg": {"mode": "hed"}}]}}


class NoSignatures:
    """Nothing is asked of it here: a demand that is not understood comes before any check."""

    trust = ""
    trust_problem = ""

    async def checks(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("no signature is looked at")


class Noon:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, 12, tzinfo=UTC)


def prover(known: AppProject) -> SourceProver:
    return SourceProver(project=lambda _: known, signatures=NoSignatures(), clock=Noon())


async def test_a_demand_that_is_not_understood_holds_what_was_rendered_before_it() -> None:
    app, before = application(), prover(project({}))
    proof = await before.prove(app, (), ())
    record = RenderRecord(
        app=app.key, sources=(), digest=Digest("sha256:1"), objects=1, proof=proof
    )
    assert before.holds(app, record)
    malformed = prover(project({"sourceIntegrity": NOBODY}))
    assert not malformed.holds(app, record)
    with pytest.raises(RenderError, match="demands verified sources, but"):
        await malformed.prove(app, (), ())
