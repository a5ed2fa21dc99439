from __future__ import annotations

import msgspec

from bus.events import SyncApp
from bus.identity import AppKey, ResourceKey, Revision
from handlers.application.spec import Operation
from handlers.command import operation_of
from handlers.sync.operation_info import COMMAND_ID, info_of
from tests.unit.handlers.application.builders import REPO, application

APP = AppKey("argocd", "web")


def test_a_command_is_written_as_argo_cd_would() -> None:
    command = SyncApp(
        app=APP,
        id="c1",
        actor="anna",
        revision=Revision("v1"),
        prune=True,
        resources=(ResourceKey("apps", "Deployment", "shop", "web"),),
    )
    app = application({"syncPolicy": {"syncOptions": ["PruneLast=true"]}})
    written = operation_of(app, command)
    operation = msgspec.convert(written, Operation)
    assert operation.sync is not None
    assert (operation.sync.revision, operation.sync.prune) == ("v1", True)
    assert operation.sync.sync_options == ("PruneLast=true",)
    assert [one.name for one in operation.sync.resources] == ["web"]
    assert operation.initiated_by.username == "anna"
    assert info_of(operation, COMMAND_ID) == "c1"


def test_what_is_not_asked_for_is_not_written() -> None:
    assert operation_of(application(), SyncApp(app=APP, id="c1", actor="anna"))["sync"] == {}


def test_a_rollback_names_source_and_revision_and_runs_no_hooks_and_no_retry() -> None:
    source = {"repoURL": REPO, "path": "old"}
    entry = {"id": 4, "revision": "a" * 40, "source": source}
    app = application(
        {"syncPolicy": {"syncOptions": ["PruneLast=true"]}}, status={"history": [entry]}
    )
    written = operation_of(app, SyncApp(app=APP, id="c1", actor="anna", history_id=4))
    assert written["sync"] == {
        "revision": "a" * 40,
        "source": source,
        "syncStrategy": {"apply": {}},
        "syncOptions": ["PruneLast=true"],
    }
    assert "retry" not in written
