"""Which sync options a single command may name."""

import pytest

from bus.events import SyncApp
from bus.identity import AppKey
from handlers.command import operation_of, option_problems
from tests.unit.handlers.application.builders import application


@pytest.mark.parametrize(
    "option",
    [
        "ApplyOutOfSyncOnly=true",
        "CreateNamespace=true",
        "FailOnSharedResource=true",
        "Force=true",
        "Prune=confirm",
        "ServerSideApply=false",
        "Prune=false",
        "PruneLast=true",
        "PrunePropagationPolicy=background",
        "Replace=true",
        "ServerSideApply=true",
        "RespectIgnoreDifferences=true",
        "Validate=false",
    ],
)
def test_an_option_that_can_be_honoured_is_taken(option: str) -> None:
    assert option_problems([option]) == ()


@pytest.mark.parametrize(
    "option",
    [
        "Delete=false",
        "Magic=true",
        "PruneLast",
        "PruneLast=maybe",
        "",
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused_by_its_name(option: str) -> None:
    (problem,) = option_problems(["PruneLast=true", option])
    assert repr(option) in problem


def test_options_of_a_command_stand_in_place_of_those_of_the_application() -> None:
    app = application({"syncPolicy": {"syncOptions": ["PruneLast=true"]}})
    command = SyncApp(app=AppKey("argocd", "web"), id="c1", actor="anna", options=("Replace=true",))
    assert operation_of(app, command)["sync"] == {"syncOptions": ["Replace=true"]}
