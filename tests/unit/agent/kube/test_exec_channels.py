"""The messages of `pods/exec`, as an API server sends and reads them."""

import json
from typing import Any

import pytest

from agent.kube.exec_channels import (
    ExecEnd,
    close_message,
    input_message,
    is_shell_missing,
    read_message,
    size_message,
)

MISSING = 'exec: "bash": executable file not found in $PATH'


def status(**fields: Any) -> bytes:
    return b"\x03" + json.dumps({"metadata": {}, **fields}).encode()


def test_input_size_and_close_name_their_channel() -> None:
    assert input_message(b"ls\n") == b"\x00ls\n"
    assert size_message(120, 40) == b'\x04{"Width":120,"Height":40}'
    assert close_message() == b"\xff\x00"


@pytest.mark.parametrize("columns", [-1, 0, 10**9])
def test_a_size_that_no_terminal_has_becomes_one(columns: int) -> None:
    assert 1 <= json.loads(size_message(columns, 24)[1:])["Width"] <= 1000


@pytest.mark.parametrize("channel", [1, 2])
def test_output_and_errors_are_output(channel: int) -> None:
    assert read_message(bytes((channel,)) + b"\xff\x00a") == b"\xff\x00a"


@pytest.mark.parametrize("raw", [b"", b"\x01", b"\x03", b"\x07x", b"\xff\x01"])
def test_what_says_nothing_is_empty(raw: bytes) -> None:
    assert read_message(raw) == b""


CODE = {"causes": [{"reason": "ExitCode", "message": "7"}]}


@pytest.mark.parametrize(
    ("raw", "end"),
    [
        (status(status="Success"), ExecEnd(exit_code=0)),
        (
            status(status="Failure", reason="NonZeroExitCode", details=CODE),
            ExecEnd(exit_code=7),
        ),
        (status(status="Failure", message=MISSING), ExecEnd(message=MISSING)),
        (b"\x03{nothing", ExecEnd(message="{nothing")),
        (
            status(
                status="Failure",
                message="m",
                details={"causes": [{"reason": "ExitCode", "message": "9" * 5000}]},
            ),
            ExecEnd(message="m"),
        ),
    ],
    ids=["success", "exit code", "failure", "no JSON", "huge code"],
)
def test_the_status_says_how_the_command_ended(raw: bytes, end: ExecEnd) -> None:
    assert read_message(raw) == end


@pytest.mark.parametrize(
    ("end", "used"),
    [
        (ExecEnd(message=MISSING), True),
        (ExecEnd(message='stat /bin/bash: no such file or directory: "bash"'), False),
        (ExecEnd(exit_code=127), False),
        (ExecEnd(exit_code=126), False),
    ],
)
def test_a_container_without_the_shell_is_known(end: ExecEnd, *, used: bool) -> None:
    assert is_shell_missing(end, used=used)


@pytest.mark.parametrize(
    ("end", "used"),
    [
        (ExecEnd(exit_code=127), True),
        (ExecEnd(exit_code=1), False),
        (ExecEnd(message="container not running"), False),
    ],
)
def test_a_shell_that_ended_is_not_tried_again(end: ExecEnd, *, used: bool) -> None:
    assert not is_shell_missing(end, used=used)
