"""Options as one value: each field of a dataclass is an option or argument of a command.

The annotations of the fields are Typer's; the command gets the value and passes it on as a whole.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

D = TypeVar("D", bound="DataclassInstance")


def takes(kind: type[D]) -> Callable[[Callable[[D], None]], Callable[..., None]]:
    """Decorate a function of one `kind`, a dataclass, so that Typer sees its fields."""

    def made(function: Callable[[D], None]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            function(kind(**values))

        hints = get_type_hints(kind, include_extras=True)
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__annotations__ = hints
        parameters = [_parameter(each, hints[each.name]) for each in fields(kind)]
        cast("Any", command).__signature__ = inspect.Signature(parameters)
        return command

    return made


def _parameter(it: Field[Any], hint: object) -> inspect.Parameter:
    default = inspect.Parameter.empty if it.default is MISSING else it.default
    return inspect.Parameter(
        it.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
    )
