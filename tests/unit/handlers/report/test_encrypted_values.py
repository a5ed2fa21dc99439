"""Values that were encrypted in Git are hidden wherever their object is shown."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.manifest.encryption import ENCRYPTED_FIELDS
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction

REDACTION = Redaction(salt=b"salt", known=KnownSecrets(b"salt"), config_maps=("*/web",))


def shown(note: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "web", "annotations": {ENCRYPTED_FIELDS: note}}
    body = {"apiVersion": "example.org/v1", "kind": "Shop", "metadata": metadata, **fields}
    return REDACTION.manifest(body)


@pytest.mark.parametrize(
    "value", ["short", 4711, 0.5, ["a"], {"name": "web", "key": "x"}, {"deep": {"er": "x"}}]
)
def test_an_encrypted_value_is_hidden_whatever_it_is(value: Any) -> None:
    one = shown('["/spec/plan"]', spec={"plan": value, "size": "large"})
    assert one["spec"] == {"plan": one["spec"]["plan"], "size": "large"}
    assert str(one["spec"]["plan"]).startswith("(hidden")


def test_two_values_of_one_field_have_two_masks() -> None:
    redaction = REDACTION.together()
    metadata = {"name": "web", "annotations": {ENCRYPTED_FIELDS: '["/spec/pin"]'}}
    body = {"apiVersion": "v1", "kind": "Shop", "metadata": metadata}
    pins = [redaction.manifest({**body, "spec": {"pin": pin}})["spec"]["pin"] for pin in "121"]
    assert pins[0] == pins[2] != pins[1]


def test_a_config_map_that_its_owner_shows_hides_what_was_encrypted() -> None:
    metadata = {"namespace": "a", "name": "web", "annotations": {ENCRYPTED_FIELDS: '["/data/b"]'}}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    assert REDACTION.manifest({**body, "data": {"a": "1", "b": "2"}})["data"] == {
        "a": "1",
        "b": "(hidden)",
    }


def test_a_note_on_an_item_of_a_list_counts() -> None:
    metadata = {"name": "web", "annotations": {ENCRYPTED_FIELDS: '["/spec/plan"]'}}
    listed = {
        "apiVersion": "example.org/v1",
        "kind": "ShopList",
        "items": [{"metadata": metadata, "spec": {"plan": "b"}}],
    }
    assert REDACTION.manifest(listed)["items"][0]["spec"] == {"plan": "(hidden)"}


def test_a_note_that_names_other_places_hides_nothing_else() -> None:
    assert shown('["/spec/none/at/all","/status"]', spec={"size": "large"})["spec"] == {
        "size": "large"
    }
