"""Which output format a call gets: flag, environment, project, user, default, in this order. Pure.

The CLI resolves with this function and the conformance checker checks it (LAFS 5.1, 5.2).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_USAGE, FORMAT_CONFLICT
from handrail.contract.outcome import Fault

Format: TypeAlias = Literal["json", "text", "raw"]
FormatSource: TypeAlias = Literal["flag", "environment", "project", "user", "default"]

FORMATS: dict[str, Format] = {"json": "json", "text": "text", "human": "text", "raw": "raw"}
"""Every accepted spelling; `human` is what LAFS calls `text`."""

_SETTINGS: dict[FormatSource, str] = {
    "environment": "HANDRAIL_FORMAT",
    "project": "format in the project settings",
    "user": "format in the user settings",
}


class FlagInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that may ask for a format in one call."""

    human_flag: bool = False
    json_flag: bool = False
    requested_format: str | None = None
    """The value of `--format`."""
    environment: str | None = None
    project_default: str | None = None
    user_default: str | None = None


class ResolvedFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The format and who asked for it."""

    format: Format
    source: FormatSource


def resolve_format(flags: FlagInput) -> ResolvedFormat:
    """The format of this call. A source that a stronger one overrules is not looked at.

    Raises:
        Fault FORMAT_CONFLICT when flags ask for two different formats, E_USAGE for a bad `--format`,
        E_CONFIG for a bad value in a lower source.
    """
    asked = _asked_by_flags(flags)
    if len(asked) > 1:
        message = f"The flags ask for {' and '.join(asked)} at the same time."
        raise Fault(FORMAT_CONFLICT, message, details={"formats": list(asked)})
    if flags.requested_format is not None and flags.requested_format not in FORMATS:
        raise Fault(
            E_USAGE,
            "--format takes json, text or raw.",
            details={"usage": "--format json|text|raw"},
            hint="Leave --format out to get json.",
        )
    if asked:
        return ResolvedFormat(format=asked[0], source="flag")
    lower: tuple[tuple[FormatSource, str | None], ...] = (
        ("environment", flags.environment or None),  # an empty variable counts as not set
        ("project", flags.project_default),
        ("user", flags.user_default),
    )
    for source, value in lower:
        if value is not None:
            return ResolvedFormat(format=_configured(source, value), source=source)
    return ResolvedFormat(format="json", source="default")


def _asked_by_flags(flags: FlagInput) -> tuple[Format, ...]:
    """The different formats that flags ask for, in the order of their names here."""
    asked: list[Format] = []
    if flags.human_flag:
        asked.append("text")
    if flags.json_flag:
        asked.append("json")
    if flags.requested_format in FORMATS:
        asked.append(FORMATS[flags.requested_format])
    return tuple(dict.fromkeys(asked))


def _configured(source: FormatSource, value: str) -> Format:
    if value not in FORMATS:
        setting = _SETTINGS[source]
        raise Fault(
            E_CONFIG,
            f"{setting} is none of json, text and raw.",
            details={"setting": setting, "source": source},
            hint=f"Correct {setting}, or pass --format to overrule it in this call.",
        )
    return FORMATS[value]
