"""What a package manager is told, by the manager that installed the program."""

from __future__ import annotations

import pytest

from handrail import __version__
from handrail.contract import released
from handrail.contract.catalogue import E_CONFIG
from handrail.contract.outcome import Fault
from handrail.ports.program import InstallFacts
from handrail.program.update.verify_release import pin_command, require_extra
from tests.cases import every_case

PYTHON = "/venv/bin/python"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            ("uv", "tool", "install", "--refresh", "handrail==7.1.0"),
            (
                "uv",
                "tool",
                "install",
                "--refresh",
                "--no-build-package",
                "handrail",
                "handrail[verify]==7.1.0",
            ),
        ),
        (
            ("pipx", "install", "--force", "handrail==7.1.0"),
            ("pipx", "install", "--force", "--pip-args=--only-binary=handrail", "handrail[verify]==7.1.0"),
        ),
        (
            (PYTHON, "-P", "-m", "pip", "install", "--upgrade", "handrail==7.1.0"),
            (
                *(PYTHON, "-P", "-m", "pip", "install", "--upgrade"),
                *("--only-binary", "handrail", "handrail[verify]==7.1.0"),
            ),
        ),
        (
            ("uv", "pip", "install", "--python", PYTHON, "handrail==7.1.0"),
            (
                *("uv", "pip", "install", "--python", PYTHON),
                *("--only-binary", "handrail", "handrail[verify]==7.1.0"),
            ),
        ),
    ],
    ids=["uv tool", "pipx", "pip", "uv pip"],
)
def test_a_manager_gets_the_verified_version_and_may_not_build_it(
    command: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert pin_command(command, "7.1.0") == expected


def facts(method: str, *, has_pip: bool, can_verify: bool = False) -> InstallFacts:
    return InstallFacts(
        method=method,  # type: ignore[arg-type] # the table below holds methods
        executable=PYTHON,
        python="3.13.1",
        prefix="/venv",
        is_writable=True,
        programs={},
        has_pip=has_pip,
        is_pinned=False,
        sources=(),
        takes_first=True,
        speaks_uv=False,
        can_verify=can_verify,
    )


WANTED = f"handrail[verify]=={__version__}"


@every_case(
    ("method", "has_pip", "expected"),
    [
        ("uv-tool", False, ["uv", "tool", "install", "--force", WANTED]),
        ("pipx", True, ["pipx", "install", "--force", WANTED]),
        ("pip", True, [PYTHON, "-P", "-m", "pip", "install", WANTED]),
        ("pip", False, ["uv", "pip", "install", "--python", PYTHON, WANTED]),
        ("pip-user", True, [PYTHON, "-P", "-m", "pip", "install", WANTED]),
    ],
)
def test_the_extra_is_added_to_this_version_by_the_manager_that_installed_it(
    method: str, has_pip: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(released, "IS_RELEASED", True)
    with pytest.raises(Fault) as caught:
        require_extra(facts(method, has_pip=has_pip))

    assert caught.value.kind is E_CONFIG
    assert caught.value.details["install_command"] == expected
    assert f"'{WANTED}'" in caught.value.hint


def test_with_the_extra_nothing_is_asked_for() -> None:
    require_extra(facts("pip", has_pip=True, can_verify=True))
