"""Writes the CustomResourceDefinitions to deploy/base/crds, whenever a type of theirs changes."""  # noqa: INP001  a script, no package

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from handlers.application.crd import definitions

CRDS = Path(__file__).parent / "base" / "crds"
_HEAD = "# Made from handlers/application by deploy/generate.py; do not edit.\n"


def text_of(definition: Mapping[str, Any]) -> str:
    return _HEAD + yaml.dump(dict(definition), Dumper=_Plain, sort_keys=False, width=100)


class _Plain(yaml.SafeDumper):
    """Without anchors, which a reader of a definition does not expect."""

    def ignore_aliases(self, data: object) -> bool:
        return data is not None


def main() -> None:
    CRDS.mkdir(parents=True, exist_ok=True)
    for name, definition in definitions().items():
        (CRDS / f"{name}.yaml").write_text(text_of(definition))


if __name__ == "__main__":
    main()
