"""What a package manager is told, by the manager that installed the program."""

from __future__ import annotations

import pytest
from msgspec import structs

from handrail import __version__
from handrail.contract import released
from handrail.contract.catalogue import E_CONFIG
from handrail.contract.outcome import Fault
from handrail.ports.program import InstallFacts
from handrail.program.update.package_index import OfferedFile
from handrail.program.update.update_program import spell_install
from handrail.program.update.verify_release import require_extra
from tests.cases import every_case

PYTHON = "/venv/bin/python"


def facts(method: str, *, has_pip: bool, can_verify: bool = False) -> InstallFacts:
    return InstallFacts(
        method=method,  # type: ignore[arg-type] # the table below holds methods
        executable=PYTHON,
        python="3.13.1",
        prefix="/venv",
        is_writable=True,
        programs={},
        has_pip=has_pip,
        extras=("verify",) if can_verify else (),
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
def test_extra_is_added_by_the_manager_of_this_version(
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


FILE = OfferedFile(version="7.1.0", url="../files/h.whl", sha256="ab")
EXACT = "handrail[verify] @ https://index.test/files/h.whl#sha256=ab"


@every_case(
    ("method", "has_pip", "options", "expected"),
    [
        ("uv-tool", False, ("--with", "x"), ("uv", "tool", "install", "--with", "x", EXACT)),
        ("pipx", True, ("--suffix", "7"), ("pipx", "install", "--force", "--suffix", "7", EXACT)),
        ("pip", True, (), (PYTHON, "-P", "-m", "pip", "install", EXACT)),
        ("pip", False, (), ("uv", "pip", "install", "--python", PYTHON, EXACT)),
    ],
)
def test_a_manager_installs_exactly_the_file_of_the_listing(
    method: str, has_pip: bool, options: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    known = structs.replace(facts(method, has_pip=has_pip, can_verify=True), options=options)

    assert spell_install(known, FILE, "https://index.test/simple/") == expected
