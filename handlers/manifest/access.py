"""Reading Kubernetes objects, which stay the plain mappings they arrive as.

Whatever has the wrong shape reads as absent (an empty string, mapping or tuple): what others wrote
may be malformed anywhere, and reporting it is `manifest_assembly`'s work, not each reader's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bus.identity import ResourceKey

Manifest = Mapping[str, Any]

_NOTHING: Manifest = {}
_DIGITS = 19
_OBJECT = (dict, Mapping)
"""In this order: `Mapping` answers slowly."""


class OwnerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `metadata.ownerReferences`."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


def get(manifest: object, *path: str | int) -> Any:
    """The value at `path`, or None where a step is missing or of another type."""
    here = manifest
    for step in path:
        if type(here) is dict:  # nearly always, and asked some hundred times a comparison
            here = here.get(step)
        elif here is None:
            return None
        elif isinstance(step, str):
            here = here.get(step) if isinstance(here, _OBJECT) else None
        elif isinstance(here, Sequence) and not isinstance(here, str) and step < len(here):
            here = here[step]
        else:
            return None
    return here


def text(manifest: object, *path: str | int) -> str:
    found = get(manifest, *path)
    return found if isinstance(found, str) else ""


def whole_number(written: str) -> int | None:
    """Read digits; None for anything else, also for more of them than a 64-bit number has."""
    is_number = written.isascii() and written.isdecimal() and len(written) <= _DIGITS
    return int(written) if is_number else None


def number(manifest: object, *path: str | int, default: int = 0) -> int:
    found = get(manifest, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def mapping(manifest: object, *path: str | int) -> Manifest:
    found = get(manifest, *path)
    return found if isinstance(found, Mapping) else _NOTHING


def items(manifest: object, *path: str | int) -> tuple[Manifest, ...]:
    """The objects in the list at `path`; entries that are no objects are left out."""
    found = get(manifest, *path)
    if not isinstance(found, list | tuple):
        return ()
    return tuple(entry for entry in found if isinstance(entry, Mapping))


def api_version(manifest: Manifest) -> str:
    return text(manifest, "apiVersion")


def group(manifest: Manifest) -> str:
    """`apps` of `apps/v1`; empty for the core group's `v1`."""
    return split_api_version(api_version(manifest))[0]


def version(manifest: Manifest) -> str:
    return split_api_version(api_version(manifest))[1]


def split_api_version(written: str) -> tuple[str, str]:
    head, slash, tail = written.partition("/")
    return (head, tail) if slash else ("", head)


def kind(manifest: Manifest) -> str:
    return text(manifest, "kind")


def name(manifest: Manifest) -> str:
    return text(manifest, "metadata", "name")


def generate_name(manifest: Manifest) -> str:
    return text(manifest, "metadata", "generateName")


def namespace(manifest: Manifest) -> str:
    return text(manifest, "metadata", "namespace")


def labels(manifest: Manifest) -> Mapping[str, str]:
    return mapping(manifest, "metadata", "labels")


def annotations(manifest: Manifest) -> Mapping[str, str]:
    return mapping(manifest, "metadata", "annotations")


def annotation(manifest: Manifest, key: str) -> str:
    return text(manifest, "metadata", "annotations", key)


def annotation_words(manifest: Manifest, key: str) -> tuple[str, ...]:
    """The words of a comma-separated annotation: trimmed, in order, each once."""
    written = annotation(manifest, key)
    if not written:
        return ()
    words = (word.strip() for word in written.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def finalizers(manifest: Manifest) -> tuple[str, ...]:
    found = get(manifest, "metadata", "finalizers")
    return tuple(filter(_is_text, found)) if isinstance(found, list | tuple) else ()


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def uid(manifest: Manifest) -> str:
    return text(manifest, "metadata", "uid")


def resource_version(manifest: Manifest) -> str:
    return text(manifest, "metadata", "resourceVersion")


def owners(manifest: Manifest) -> tuple[OwnerEntry, ...]:
    return tuple(
        OwnerEntry(
            api_version=text(entry, "apiVersion"),
            kind=text(entry, "kind"),
            name=text(entry, "name"),
            uid=text(entry, "uid"),
            controller=entry.get("controller") is True,
        )
        for entry in items(manifest, "metadata", "ownerReferences")
    )


def key(manifest: Manifest) -> ResourceKey:
    return ResourceKey(group(manifest), kind(manifest), namespace(manifest), name(manifest))


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def is_secret(manifest: Manifest) -> bool:
    return kind(manifest) == "Secret" and group(manifest) == ""
