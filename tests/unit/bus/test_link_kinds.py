"""The table of object kinds, and what agent, service and dashboard make of its rows."""

from __future__ import annotations

import re

import pytest

from bus.link import OBJECT_KINDS, ObjectKind
from bus.link.kinds import COMPONENT, INSTANCES, kind_of_type, object_kind
from handlers.report.items import state_type
from service.access.permissions import object_permission, view_permission
from service.api.connections.nouns import NOUNS
from tests.paths import REPOSITORY

each_kind = pytest.mark.parametrize("kind", OBJECT_KINDS, ids=lambda kind: kind.name)
WORDS = REPOSITORY / "web/src/model/connections.ts"


@each_kind
def test_the_type_of_an_item_names_its_kind(kind: ObjectKind) -> None:
    assert kind_of_type(state_type(kind.name)) == kind.name
    assert object_kind(kind.name) is kind


def test_the_first_name_of_projects_is_still_read() -> None:
    assert kind_of_type("project.v1") == "AppProject"
    assert kind_of_type("surprise.v1") == ""


@each_kind
def test_a_connection_has_permissions_and_can_be_written(kind: ObjectKind) -> None:
    if kind.collection is not None:
        assert kind.writable
        assert len({object_permission(kind, verb) for verb in ("view", "edit", "delete")}) == 3


def test_changes_of_components_and_of_unknown_kinds_are_shown_to_nobody() -> None:
    assert view_permission(COMPONENT.name) is None
    assert view_permission("Surprise") is None
    assert view_permission(INSTANCES.name) == "gitops_application_view"


def test_the_dashboard_has_words_for_every_connection() -> None:
    text = WORDS.read_text().split("const WORDS = {")[1].split("} satisfies")[0]
    named = re.findall(r'^  "?([a-z-]+)"?: \{$', text, re.MULTILINE)
    assert sorted(named) == sorted(noun.path for noun in NOUNS)
