"""Fixtures of decryption."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.agent.decryption.keyed_project import KeyedProject


@pytest.fixture
def project(sops_binary: Path) -> KeyedProject:
    return KeyedProject(sops_binary)
