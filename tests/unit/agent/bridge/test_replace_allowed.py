"""Whether a sync over the link may replace objects, by Argo CD's own parameter."""

from __future__ import annotations

import pytest

from agent.bridge.tasks.executors.sync import check_replace
from agent.bridge.tasks.task_context import TaskFailedError
from handlers.application.application import Application
from handlers.application.argo_settings import read_settings
from tests.unit.handlers.application.builders import application

PLAIN = application()
REPLACING = application({"syncPolicy": {"syncOptions": ["Replace=true"]}})
FORBIDDEN = read_settings({}, {"server.sync.replace.allowed": "false"})


@pytest.mark.parametrize(
    ("app", "options"),
    [(PLAIN, ("Replace=true",)), (REPLACING, ())],
    ids=["asked for", "of the application"],
)
def test_a_sync_that_replaces_is_refused_with_the_parameter(
    app: Application, options: tuple[str, ...]
) -> None:
    with pytest.raises(TaskFailedError, match=r"server\.sync\.replace\.allowed"):
        check_replace(app, options, FORBIDDEN)


def test_any_other_sync_is_not() -> None:
    check_replace(REPLACING, ("PruneLast=true",), FORBIDDEN)
    check_replace(PLAIN, (), FORBIDDEN)
    check_replace(REPLACING, (), read_settings({}, {"server.sync.replace.allowed": "true"}))
    check_replace(REPLACING, (), read_settings({}))
