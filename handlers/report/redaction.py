"""Redaction: masks secrets in everything that leaves the cluster; nothing leaves another way.

Objects are judged by structure: below a sensitive name every value is hidden, and so is the data of
Secrets, of foreign kinds, of embedded objects and of ConfigMaps that the owner has not allowed.
Every text is searched for values of known Secrets and for credentials by their form. A value that
is plainly no secret is shown: an environment variable with a harmless name can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from bus.metadata_keys import PENDING_FACTS
from bus.redaction import is_sensitive, masked
from handlers.manifest import access
from handlers.manifest.access import LAST_APPLIED, Manifest
from handlers.report import fields
from handlers.report.encrypted_values import EncryptedValue, concealed
from handlers.report.fields import LISTS, hidden_arguments, program_of
from handlers.report.known_secrets import KnownSecrets
from handlers.report.masks import Masks, Path, Seen, identity_of

_DEEPEST = 60
TOO_DEEP = "(too deep)"
_SETTINGS = frozenset({"env", "parameters", "extVars", "tlas", "values", "valuesObject", "labels"})
_BODY = frozenset({"spec", "value", "values"})
"""Members to hide of a `Secret` of another API group."""
_OPEN_DATA = frozenset({"ControllerRevision"})
"""Kinds of Kubernetes whose `data` is an object like others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    salt: bytes
    """The key of the masks, drawn by the agent."""
    known: KnownSecrets
    config_maps: tuple[str, ...] = field(default=())
    """Patterns of `namespace/name` whose data may be shown."""
    masked_annotations: Callable[[], Container[str]] = frozenset
    """Annotations whose values are hidden, whatever they are, by the settings of now."""
    scope: str = ""
    """The object that is shown: masks are keyed by it."""
    seen: Seen | None = None
    """Of a comparison of several states of one object."""

    def within(self, scope: str) -> Redaction:
        return replace(self, scope=scope)

    def together(self) -> Redaction:
        """Redaction of several states of one object: where a value differs, its mask does."""
        return replace(self, seen={})

    def text(self, text: str) -> str:
        if text[:1] in ("{", "["):
            text = self._json(text)
        return masked(self.known.mask(text))

    def hidden(self, value: object, path: Path = ()) -> str:
        return self._masks.of(value, path)

    def value(self, value: Any, path: Path = (), *, setting: bool = False) -> Any:
        """Redact any JSON value; `setting`: of a map of settings, where random texts are hidden."""
        if len(path) > _DEEPEST:
            return TOO_DEEP
        if isinstance(value, str):
            return self._string(value, path, setting=setting)
        if isinstance(value, Mapping):
            if "kind" in value and "apiVersion" in value:
                return self.manifest(value, path)
            return self._members(value, path, setting=setting)
        if isinstance(value, list | tuple):
            return self._list(value, path, setting=setting)
        return self._leaf(value, path) if isinstance(value, EncryptedValue) else value

    def manifest(self, manifest: Manifest, path: Path = ()) -> dict[str, Any]:
        """Redact a Kubernetes object of any kind."""
        identity = identity_of(manifest)
        if self.scope != identity:
            return self.within(identity).manifest(manifest, path)
        foreign = fields.is_foreign_secret(manifest)
        manifest = concealed(manifest)
        shown: dict[str, Any] = {}
        for name, value in manifest.items():
            here = (*path, name)
            if name in fields.DATA:
                shown[name] = self._data(manifest, value, here)
            elif name == "metadata":
                shown[name] = self._metadata(manifest, here)
            elif name == "items" and access.kind(manifest).endswith("List"):
                shown[name] = self._items(manifest, value, here)
            elif foreign and name in _BODY:
                shown[name] = self._leaves(name, value, here)
            else:
                shown[name] = self._member(name, value, here)
        return shown

    def annotations(self, annotations: Mapping[str, Any], path: Path = ()) -> dict[str, Any]:
        """Redact annotations; those of unknown projects may hold anything and are hidden."""
        shown: dict[str, Any] = {}
        masked_names = self.masked_annotations()
        for name, value in annotations.items():
            here = (*path, "annotations", name)
            if name in (LAST_APPLIED, *PENDING_FACTS.names):  # reported as facts
                continue
            if name in masked_names:
                shown[name] = self._leaves(name, value, here)
            elif fields.is_known_annotation(name):
                shown[name] = self._member(name, value, here, setting=True)
            else:
                shown[self.text(name)] = self._leaves(name, value, here)
        return shown

    def labels(self, labels: Mapping[str, str], path: Path = ()) -> dict[str, Any]:
        return self._members(labels, (*path, "labels"), setting=True)

    @property
    def _masks(self) -> Masks:
        return Masks(key=self.salt, scope=self.scope, seen=self.seen)

    def _metadata(self, manifest: Manifest, path: Path) -> dict[str, Any]:
        metadata = access.mapping(manifest, "metadata")
        shown: dict[str, Any] = {}
        for name, value in metadata.items():
            if name == "annotations":
                shown[name] = self.annotations(access.annotations(manifest), path)
            elif name != "managedFields":
                shown[name] = self._member(name, value, (*path, name))
        return shown

    def _data(self, manifest: Manifest, data: object, path: Path) -> Any:
        if self._is_open(manifest):
            return self.value(data, path)
        if not isinstance(data, Mapping):
            return None if data is None else self.hidden(data, path)
        return {self.text(str(name)): self._leaf(it, (*path, name)) for name, it in data.items()}

    def _is_open(self, manifest: Manifest) -> bool:
        kind = access.kind(manifest)
        if kind in _OPEN_DATA:
            return True
        name = f"{access.namespace(manifest)}/{access.name(manifest)}"
        return kind == "ConfigMap" and any(fnmatchcase(name, it) for it in self.config_maps)

    def _items(self, listed: Manifest, items: object, path: Path) -> Any:
        """Redact the items of a typed list, which leave out their kind."""
        if not isinstance(items, list | tuple):
            return self.hidden(items, path)
        kind = access.kind(listed).removesuffix("List")
        type_meta = {"kind": kind, "apiVersion": listed.get("apiVersion", "")} if kind else {}
        return [self._item(item, type_meta, path) for item in items]

    def _item(self, item: Any, type_meta: Mapping[str, Any], path: Path) -> Any:
        if not isinstance(item, Mapping) or not type_meta:
            return self.value(item, path)
        shown = self.manifest({**type_meta, **item}, path)
        return {name: value for name, value in shown.items() if name in item}

    def _members(self, values: Mapping[Any, Any], path: Path, *, setting: bool) -> dict[str, Any]:
        hidden = fields.hidden_members(values)
        shown: dict[str, Any] = {}
        for key, value in values.items():
            name = str(key)
            here = (*path, name)
            if name in hidden or fields.holds_data(name, values):
                shown[self.text(name)] = self._leaves(name, value, here)
            elif name in LISTS and isinstance(value, list | tuple):
                program = program_of(values)
                shown[name] = self._list(value, here, setting=setting, program=program)
            else:
                shown[self.text(name)] = self._member(name, value, here, setting=setting)
        return shown

    def _member(self, name: str, value: Any, path: Path, *, setting: bool = False) -> Any:
        if is_sensitive(name):
            shown = fields.is_reference(name, value)
            return self._plain(value, path) if shown else self._leaves(name, value, path)
        if isinstance(value, str):
            login = fields.is_login(name, value)
            opaque = setting and fields.is_opaque_setting(name, value)
            return self.hidden(value, path) if login or opaque else self._string(value, path)
        if name == "annotations" and isinstance(value, Mapping):
            return self.annotations(value, path[:-1])
        return self.value(value, path, setting=setting or name in _SETTINGS)

    def _list(self, values: Sequence[Any], path: Path, *, setting: bool, program: str = "") -> Any:
        """Entries are told apart by their names; arguments are judged by the one before."""
        hidden = hidden_arguments(values, program)
        return [
            hidden[place] + self.hidden(item, (*path, _step(item)))
            if place in hidden
            else self.value(item, (*path, _step(item)), setting=setting)
            for place, item in enumerate(values)
        ]

    def _leaves(self, name: str, value: Any, path: Path) -> Any:
        """Keep the shape and hide every scalar but booleans and empty values."""
        if len(path) > _DEEPEST:
            return TOO_DEEP
        if isinstance(value, Mapping):
            return {
                self.text(str(key)): self._plain(it, (*path, str(key)))
                if fields.is_reference(str(key), it)
                else self._leaves(str(key), it, (*path, str(key)))
                for key, it in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._leaves(name, item, (*path, _step(item))) for item in value]
        return self._leaf(value, path)

    def _leaf(self, value: Any, path: Path) -> Any:
        value = value.value if isinstance(value, EncryptedValue) else value
        shown = value is None or value == "" or isinstance(value, bool)
        return value if shown else self.hidden(value, path)

    def _plain(self, value: Any, path: Path) -> Any:
        """Show a reference: its texts are names, which are searched like any text."""
        if isinstance(value, Mapping):
            return {str(key): self._plain(it, (*path, str(key))) for key, it in value.items()}
        if isinstance(value, list | tuple):
            return [self._plain(item, (*path, _step(item))) for item in value]
        return self._string(value, path) if isinstance(value, str) else value

    def _string(self, value: str, path: Path, *, setting: bool = False) -> str:
        if setting and fields.is_opaque_setting("", value):
            return self.hidden(value, path)
        return self._masks.beside(value, self.text(value), path)

    def _json(self, text: str) -> str:
        """Redact a text that holds JSON as an object; it stays as it is where nothing is hidden."""
        try:
            read = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text
        shown = self.value(read) if isinstance(read, dict | list) else read
        return text if shown == read else msgspec.json.encode(shown).decode()


def _step(item: Any) -> str:
    """The step of a list entry, by name, so that its mask survives entries before it."""
    name = item.get("name") if isinstance(item, Mapping) else None
    return f"[{name}]" if isinstance(name, str) else "[]"
