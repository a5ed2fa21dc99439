"""No secret leaves."""

import json

from hypothesis import given
from hypothesis import strategies as st

from handlers.manifest.redact import LAST_APPLIED, redact, redact_text, redact_together


def secret(data: dict[str, str], **annotations: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "annotations": annotations},
        "data": data,
    }


@given(
    st.dictionaries(st.sampled_from("abcd"), st.text("XYZ", min_size=4)), st.text("XYZ", min_size=4)
)
def test_no_value_survives(data: dict[str, str], plain: str) -> None:
    applied = json.dumps(
        {"kind": "Secret", "apiVersion": "v1", "data": data, "stringData": {"p": plain}}
    )
    shown = json.dumps(
        redact({**secret(data, **{LAST_APPLIED: applied}), "stringData": {"p": plain}})
    )
    assert not any(value in shown for value in (*data.values(), plain))


def test_equal_values_keep_equal_masks_and_different_ones_differ() -> None:
    one, two = redact_together([secret({"a": "x", "b": "y"}), secret({"a": "x", "b": "z"})])
    assert one["data"]["a"] == two["data"]["a"]
    assert one["data"]["b"] != two["data"]["b"]
    assert set(two["data"]["b"]) == {"+"}


def test_unreadable_last_applied_is_masked_whole() -> None:
    shown = redact(secret({}, **{LAST_APPLIED: "{hunter2"}))
    assert "hunter2" not in json.dumps(shown)


def test_malformed_data_is_masked_whole() -> None:
    assert "hunter2" not in json.dumps(redact({**secret({}), "data": ["hunter2"]}))


def test_sensitive_annotations_of_any_kind_are_masked() -> None:
    config_map = {"kind": "ConfigMap", "metadata": {"annotations": {"token": "hunter2", "b": "c"}}}
    shown = redact(config_map, ["token"])
    assert shown["metadata"]["annotations"] == {"token": "++++++++", "b": "c"}


def test_other_kinds_are_untouched() -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    assert redact(config_map) is config_map


def test_urls_lose_user_and_password() -> None:
    text = "fetch of https://bob:hunter2@git.example/x failed, not ssh://git@h/y; mail a@b.example"
    assert (
        redact_text(text)
        == "fetch of https://git.example/x failed, not ssh://h/y; mail a@b.example"
    )


def test_a_password_with_an_at_sign_leaves_nothing_behind() -> None:
    assert redact_text("https://bob:p@ss@git.example/x") == "https://git.example/x"
