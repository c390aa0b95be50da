"""Which format a call gets, for every combination of flags, environment and settings."""

from __future__ import annotations

from itertools import product

import pytest

from handrail.contract.catalogue import E_CONFIG, E_USAGE, FORMAT_CONFLICT, Kind
from handrail.contract.envelopes.cli import FlagInput, resolve_format
from handrail.contract.outcome import Fault
from tests.cases import every_case


def check(flags: FlagInput, expected_format: str, expected_source: str) -> None:
    resolved = resolve_format(flags)

    assert (resolved.format, resolved.source) == (expected_format, expected_source)


def check_refused(flags: FlagInput, kind: Kind) -> Fault:
    with pytest.raises(Fault) as raised:
        resolve_format(flags)
    assert raised.value.kind is kind
    return raised.value


@every_case(
    "flags",
    [
        FlagInput(human_flag=True, json_flag=True),
        FlagInput(human_flag=True, json_flag=True, requested_format="xml"),
        FlagInput(human_flag=True, requested_format="json"),
        FlagInput(json_flag=True, requested_format="text"),
        FlagInput(json_flag=True, requested_format="raw"),
        FlagInput(human_flag=True, json_flag=True, environment="bad", project_default="bad"),
    ],
)
def test_two_formats_by_flag_conflict_first(flags: FlagInput) -> None:
    check_refused(flags, FORMAT_CONFLICT)


@every_case("value", ["", "JSON", "xml", " json", "markdown"])
def test_an_unknown_format_flag_is_a_usage_error(value: str) -> None:
    check_refused(FlagInput(requested_format=value), E_USAGE)


def test_the_strongest_source_that_is_set_decides() -> None:
    strengths = ("environment", "project_default", "user_default")
    names = {"environment": "environment", "project_default": "project", "user_default": "user"}
    for values in product((None, "text"), repeat=3):
        given = dict(zip(strengths, values, strict=True))
        strongest = next((name for name in strengths if given[name]), None)

        flags = FlagInput(
            environment=given["environment"],
            project_default=given["project_default"],
            user_default=given["user_default"],
        )

        check(flags, "text" if strongest else "json", names[strongest] if strongest else "default")


@pytest.mark.parametrize(
    ("flags", "source", "setting"),
    [
        (FlagInput(environment="xml"), "environment", "HANDRAIL_FORMAT"),
        (FlagInput(project_default="xml"), "project", "format in the project settings"),
        (FlagInput(project_default=""), "project", "format in the project settings"),
        (FlagInput(user_default="yaml"), "user", "format in the user settings"),
    ],
)
def test_a_bad_value_in_a_lower_source_names_that_source(flags: FlagInput, source: str, setting: str) -> None:
    fault = check_refused(flags, E_CONFIG)

    assert fault.details == {"setting": setting, "source": source}
    assert setting in fault.message
