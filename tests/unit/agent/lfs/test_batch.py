"""Git LFS: which files are pointers, and which answers of a host are believed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent.git.lfs_tree import LfsPointer
from agent.lfs.batch import LfsRefusedError, action_of, batch_request
from playground.lfs import pointer

DIGEST = "5" * 64
HREF = "https://objects.example/5"


def test_a_pointer_names_digest_and_size() -> None:
    assert LfsPointer.parse(pointer(DIGEST, 12)) == LfsPointer(DIGEST, 12)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"kind: ConfigMap\n",
        pointer(DIGEST, 12) + b"more\n",
        b"# mine\n" + pointer(DIGEST, 12),
        pointer("5" * 63, 12),
        pointer("../../etc/passwd", 12),
        pointer(DIGEST, -1),
        pointer(DIGEST, 10**15),
        pointer(DIGEST, 12).replace(b"\n", b"\r\n"),
    ],
)
def test_anything_else_is_a_file_as_any_other(content: bytes) -> None:
    assert LfsPointer.parse(content) is None


def answer(**fields: Any) -> bytes:
    return msgspec.json.encode({"objects": [{"oid": DIGEST, "size": 12, **fields}]})


def test_the_place_of_an_object_is_read_with_the_headers_of_its_server() -> None:
    assert msgspec.json.decode(batch_request(DIGEST, 12))["objects"][0]["oid"] == DIGEST
    content = answer(actions={"download": {"href": HREF, "header": {"X-Token": "a"}}})
    action = action_of(content, DIGEST)
    assert (action.href, action.header) == (HREF, {"X-Token": "a"})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<html>", "none of the batch API"),
        (b"\xff", "none of the batch API"),
        (answer(), "no address"),
        (answer(oid="6" * 64), "does not name"),
        (answer(error={"code": 403, "message": "go\naway"}), "go away"),
        (answer(actions={"download": {"href": HREF, "header": {"Host": "x"}}}), "'Host'"),
        (answer(actions={"download": {"href": HREF, "header": {"X": "a\r\nb"}}}), "'X'"),
        (answer(actions={"download": {"href": HREF, "header": {"X a": "b"}}}), "'X a'"),
        (answer(actions={"download": {"href": HREF, "header": {"X": "a" * 9000}}}), "too long"),
    ],
)
def test_an_answer_that_cannot_be_used_says_why(content: bytes, words: str) -> None:
    with pytest.raises(LfsRefusedError, match=words):
        action_of(content, DIGEST)


def test_an_absent_object_is_no_refusal() -> None:
    with pytest.raises(LfsRefusedError) as caught:
        action_of(answer(error={"code": 404, "message": "none"}), DIGEST)
    assert caught.value.absent
