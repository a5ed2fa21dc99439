"""The programs that the scene `sources` uses: what is missing is named before anything starts."""

import pytest

from playground.demo.source_hosts import require_programs
from playground.toolchain import ToolMissingError


def test_missing_programs_are_named_by_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissingError, match=r"apt-get install .*openssh-client gpg gpg-agent"):
        require_programs()
