"""`python -m playground.images`: build both images, print their sizes, write what they hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from playground.compiling import BuildError
from playground.images.bases import ROOT
from playground.images.build import BuiltImage, build_images
from playground.images.components import bill_of_materials
from playground.screen import watching
from playground.toolchain import ToolMissingError


def main() -> int:
    console = Console(stderr=True)
    try:
        with watching(console) as watch:
            images = build_images(watch)
    except (BuildError, ToolMissingError) as error:
        console.print(str(error), markup=False, style="red")
        return 1
    for image in images.values():
        sys.stdout.write(f"{_described(image)}\n")
    return 0


def _described(image: BuiltImage) -> str:
    with image.mounted() as mounted:
        document = bill_of_materials(mounted)
    place = ROOT / "dist" / f"{image.target}.cdx.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(document)
    parts = len(json.loads(document)["components"])
    where = place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place
    return f"{image.name}  {image.megabytes} MB  {parts} packages, listed in {where}"


if __name__ == "__main__":
    sys.exit(main())
