"""The standard variables of OpenTelemetry, as agent and service understand them. Pure.

Nothing is exported unless an endpoint is set. Where a value is not understood the specification
asks for a warning and for going on without it; `warnings` holds those sentences. What concerns the
connection alone (headers, certificates, time-outs, compression) is read by the exporter itself.
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
The documents of agent and service show the variables as a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bus.spans.span import Sampler, SamplerKind

VARIABLES: Mapping[str, str] = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": (
        "The collector, `http://collector:4318`; `/v1/traces` is added. Unset: nothing is sent."
    ),
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "Likewise for traces alone, used as it is.",
    "OTEL_EXPORTER_OTLP_HEADERS": "Headers of each request, `name=value,name=value`. Secret.",
    "OTEL_EXPORTER_OTLP_PROTOCOL": (
        "`http/protobuf`, the only one; with `grpc` nothing is sent and the log says so."
    ),
    "OTEL_SERVICE_NAME": "Name of the source of spans; unset: the agent's name, or the service's.",
    "OTEL_RESOURCE_ATTRIBUTES": "Attributes of the source of spans, `key=value,key=value`.",
    "OTEL_TRACES_SAMPLER": (
        "`always_on`, `always_off`, `traceidratio`, or one of them after `parentbased_`;"
        " unset: `parentbased_always_on`."
    ),
    "OTEL_TRACES_SAMPLER_ARG": "For `traceidratio`: the part of the traces, from 0 to 1.",
    "OTEL_TRACES_EXPORTER": "`none`: nothing is sent; unset: `otlp`.",
    "OTEL_SDK_DISABLED": "`true`: nothing is sent.",
}
"""Variable and meaning, for the documents."""

_PROTOCOL = "http/protobuf"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSource:
    """What sends spans, where OTEL_SERVICE_NAME says nothing else; `instance` is one process."""

    name: str
    instance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpSettings:
    exports: bool = False
    sampler: Sampler = field(default_factory=Sampler)
    warnings: tuple[str, ...] = ()


def otlp_settings(environ: Mapping[str, str]) -> OtlpSettings:
    """An empty variable counts as unset, as the specification says."""
    sampler, warnings = _sampler(environ)
    refused = _refusal(environ)
    return OtlpSettings(
        exports=_is_enabled(environ) and not refused,
        sampler=sampler,
        warnings=tuple(it for it in (*warnings, refused) if it),
    )


def _is_enabled(environ: Mapping[str, str]) -> bool:
    disabled = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    none = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none"
    return bool(_first(environ, _ENDPOINTS)) and not (disabled or none)


def _refusal(environ: Mapping[str, str]) -> str:
    """Why nothing is sent although an endpoint is set; empty where nothing stands against it."""
    if not _is_enabled(environ):
        return ""
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter not in ("", "otlp"):
        return f"OTEL_TRACES_EXPORTER is {exporter!r}, expected otlp or none: no traces are sent"
    protocol = _first(environ, _PROTOCOLS)
    if protocol and protocol != _PROTOCOL:
        return (
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}, expected {_PROTOCOL}: no traces are"
            " sent; set it, and the port of the collector for HTTP, usually 4318"
        )
    return ""


def _sampler(environ: Mapping[str, str]) -> tuple[Sampler, tuple[str, ...]]:
    asked = environ.get("OTEL_TRACES_SAMPLER", "").strip().lower()
    if not asked:
        return Sampler(), ()
    try:
        kind = SamplerKind(asked)
    except ValueError:
        known = ", ".join(SamplerKind)
        return Sampler(), (f"OTEL_TRACES_SAMPLER is {asked!r}, expected one of {known}: ignored",)
    if not kind.takes_ratio:
        return Sampler(kind=kind), ()
    ratio, warnings = _ratio(environ.get("OTEL_TRACES_SAMPLER_ARG", "").strip())
    return Sampler(kind=kind, ratio=ratio), warnings


def _ratio(asked: str) -> tuple[float, tuple[str, ...]]:
    if not asked:
        return 1.0, ()
    try:
        ratio = float(asked)
    except ValueError:
        ratio = -1.0
    if not 0.0 <= ratio <= 1.0:
        return 1.0, (
            f"OTEL_TRACES_SAMPLER_ARG is {asked!r}, expected a number from 0 to 1: ignored",
        )
    return ratio, ()


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    found = (environ.get(name, "").strip() for name in names)
    return next((it for it in found if it), "")


_HEAD = """\
## Traces

Variables of OpenTelemetry, in the environment only; see [operate.md](operate.md#traces).

| Variable | Meaning |
|---|---|
"""


def traces() -> str:
    rows = (f"| `{name}` | {meaning} |\n" for name, meaning in VARIABLES.items())
    return _HEAD + "".join(rows)
