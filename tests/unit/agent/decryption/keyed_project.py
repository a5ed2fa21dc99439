"""A project with the keys of its Secrets, which a test changes, and the real program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent.decryption.object_decryption import ObjectDecryption
from agent.decryption.project_keys import KeyFinder
from agent.decryption.sops_client import SopsClient
from agent.git.credentials import Secret
from handlers.application.application import Application, AppProject, Metadata
from handlers.application.decryption_keys import (
    DECRYPTION_KEY,
    DECRYPTION_KEYS,
    SECRET_TYPE_LABEL,
)
from handlers.application.spec import ApplicationSpec
from handlers.report.known_secrets import KnownSecrets
from tests.sops_files import FIRST_KEY

APP = Application(metadata=Metadata(name="web"), spec=ApplicationSpec(project="shop"))


def secret(name: str, text: str, *, label: str = DECRYPTION_KEY, governed: bool = False) -> Secret:
    return Secret(
        namespace="argocd",
        name=name,
        labels={SECRET_TYPE_LABEL: label},
        data={"identity.agekey": text},
        governed=governed,
    )


class KeyedProject:
    """A project with its keys, which a test changes."""

    def __init__(self, binary: Path) -> None:
        self.binary = binary
        self.keys = "sops"
        self.secrets: Sequence[Secret] = (secret("sops", FIRST_KEY),)
        self.is_governed = False
        self.known = KnownSecrets(b"salt")
        self.decryption = self.opened_by(binary)

    def opened_by(self, binary: Path, deadline: float = 60.0) -> ObjectDecryption:
        keys = KeyFinder(
            project=self._project,
            secrets=lambda: self.secrets,
            is_governed=lambda _: self.is_governed,
        )
        return ObjectDecryption(
            client=SopsClient(binary, deadline), keys=keys, learn=self.known.learn
        )

    def _project(self, name: str) -> AppProject | None:
        annotations = {DECRYPTION_KEYS: self.keys} if self.keys else {}
        return AppProject(metadata=Metadata(name=name, annotations=annotations))
