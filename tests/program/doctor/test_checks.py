"""Each check of `doctor` sees the trouble it is for, and says what to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from handrail.contract.catalogue import E_CONFIG, KEYRING_INVALID, STORE_PERMISSION_DENIED
from handrail.contract.outcome import Fault
from handrail.event_log.memory import MemoryLog
from handrail.ports.program import ClientServer, Handshake, InstalledSkill, PlaceFacts
from handrail.ports.server import TeamState
from handrail.ports.store import StoreKeeper, StoreOrigin
from handrail.ports.workspace import SettingProblem, Settings
from handrail.program.doctor.examine_installation import CHECK_NAMES, examine
from handrail.program.doctor.program_checks import CheckInput, DoctorCheck
from handrail.runtime.runtime import Runtime
from tests.conftest import FixedClock, FixedKeys, GivenInstallation, GivenSettings

Spoil = Callable[[GivenInstallation], None]
NOW = FixedClock().seconds


class NoOldHistory:
    """As much of `ports.store.StoreKeeper` as a check asks."""

    def origin(self) -> StoreOrigin:
        return StoreOrigin()


def checked(runtime: Runtime, name: str) -> DoctorCheck:
    runtime = msgspec.structs.replace(runtime, keeper=lambda: cast("StoreKeeper", NoOldHistory()))
    (check,) = examine(CheckInput(rt=runtime, project="/project"), [name])
    assert (check.fix is None) is (check.status == "pass")
    return check


def installation(runtime: Runtime) -> GivenInstallation:
    found = runtime.installation()
    assert isinstance(found, GivenInstallation)
    return found


def facts(**changes: Any) -> Spoil:
    def spoil(given: GivenInstallation) -> None:
        given.facts = msgspec.structs.replace(given.facts, **changes)

    return spoil


def place(name: str, **changes: Any) -> Spoil:
    def spoil(given: GivenInstallation) -> None:
        base = PlaceFacts(path=f"/home/{name}", exists=True, mode=0o700, is_writable=True, modified_at=NOW)
        given.places[name] = msgspec.structs.replace(base, **changes)

    return spoil


def skill(**changes: Any) -> Spoil:
    def spoil(given: GivenInstallation) -> None:
        base = InstalledSkill(
            path="/skills/handrail", version="0.1.0", min_version="0.1.0", is_packed_one=True
        )
        given.installed = [msgspec.structs.replace(base, **changes)]

    return spoil


def client(**changes: Any) -> Spoil:
    def spoil(given: GivenInstallation) -> None:
        base = ClientServer(
            client="cursor",
            path="/mcp.json",
            command="/bin/handrail",
            arguments=("mcp",),
            command_exists=True,
        )
        given.entries = [msgspec.structs.replace(base, **changes)]

    return spoil


def with_(**values: Any) -> Spoil:
    def spoil(given: GivenInstallation) -> None:
        for name, value in values.items():
            setattr(given, name, value)

    return spoil


OLD = NOW - 400 * 86_400
CASES: list[tuple[str, Spoil, str, str]] = [
    # check, what is wrong, status, a word of the fix
    ("path", facts(on_path=""), "warn", "PATH"),
    ("path", facts(is_on_path=False), "warn", "first on PATH"),
    ("git", facts(git=""), "warn", "Install git"),
    ("store", place("data", is_writable=False), "fail", "HANDRAIL_HOME"),
    ("store", place("data", can_lock=False), "fail", "locks"),
    ("store", place("data", can_lock=True), "pass", ""),
    ("store", place("data", free_bytes=0), "fail", "Free space"),
    ("store", place("data", free_bytes=(1 << 20) - 1), "fail", "Free space"),
    ("store", place("data", free_bytes=1 << 20), "pass", ""),
    ("store", place("", mode=0o777), "warn", "chmod go-w"),
    ("store", place("", mode=0o755), "pass", ""),
    ("keyring", place("data/keys/keyring.json", mode=0o600), "pass", ""),
    ("keyring", place("data/keys/keyring.json", is_ours=False), "fail", "user"),
    ("keyring", place("data/keys/keyring.json", modified_at=OLD), "warn", "keys rotate"),
    ("keyring", with_(source="environment"), "pass", ""),
    ("confirm_tokens", place("confirm-consumed", mode=0o755), "warn", "chmod 700"),
    ("confirm_tokens", place("confirm-consumed", mode=0o710), "warn", "chmod 700"),
    ("confirm_tokens", place("confirm-consumed", is_writable=False), "fail", "write"),
    ("confirm_tokens", place("confirm-consumed", is_ours=False), "fail", "this user"),
    ("audit", place("audit"), "pass", ""),
    ("mcp_registration", with_(entries=[]), "warn", "handrail setup --dry-run"),
    ("mcp_registration", client(), "pass", ""),
    ("mcp_registration", client(command_exists=False), "fail", "setup --clients cursor"),
    ("mcp_registration", client(command="uvx"), "warn", "setup --clients cursor"),
    ("mcp_protocol", with_(greeting=Handshake(trouble="It did not start.")), "fail", "handrail mcp"),
    ("mcp_protocol", with_(), "pass", ""),
    ("version_negotiation", skill(), "pass", ""),
    ("version_negotiation", skill(min_version="99.0"), "fail", "handrail update"),
    ("version_negotiation", skill(min_version=""), "pass", ""),
    ("version_negotiation", skill(min_version="two"), "warn", "handrail update"),
    ("skill_sync", skill(is_packed_one=False), "warn", "handrail update"),
    ("skill_sync", skill(), "pass", ""),
    ("skill_sync", with_(), "pass", ""),
    ("update", with_(), "warn", "handrail update --check"),
    ("release_readiness", with_(), "fail", "CI"),
    ("release_readiness", facts(method="editable"), "pass", ""),
]


@pytest.mark.promise("cli.skill-minimum")
@pytest.mark.parametrize(("name", "spoil", "status", "fix"), CASES)
def test_a_check_sees_what_it_is_for(
    runtime: Runtime, name: str, spoil: Spoil, status: str, fix: str
) -> None:
    spoil(installation(runtime))

    check = checked(runtime, name)

    assert (check.check, check.status) == (name, status), check
    assert fix in (check.fix or "")


@pytest.mark.promise("cli.readiness-told")
@pytest.mark.parametrize(
    ("level", "status"),
    [("verified", "pass"), ("missing", "warn")],
)
def test_the_release_gate_passes_stable_and_warns_of_beta(runtime: Runtime, level: str, status: str) -> None:
    installation(runtime).record = (
        '{"v":1,"digest":"sha256:packed","fcc_status":"verified","mock_upstream_status":"verified",'
        f'"live_smoke_status":"{level}"}}'
    ).encode()

    assert checked(runtime, "release_readiness").status == status


def test_unusable_settings_fail_and_unknown_names_warn(runtime: Runtime) -> None:
    class Odd(GivenSettings):
        def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
            return (
                SettingProblem(place="config.json colour", message="Nothing reads it.", fix="Remove it."),
            )

    class Broken(Odd):
        def of(self, project: str = "") -> Settings:
            raise Fault(E_CONFIG, "The settings cannot be used.", hint="Correct config.json.")

    odd = checked(msgspec.structs.replace(runtime, settings=Odd()), "settings")
    broken = checked(msgspec.structs.replace(runtime, settings=Broken()), "settings")

    assert (odd.status, odd.fix) == ("warn", "Remove it.")
    assert (broken.status, broken.fix) == ("fail", "Correct config.json.")


def test_unreadable_file_fails_its_check_and_not_the_call(
    runtime: Runtime,
) -> None:
    class Closed(MemoryLog):
        def list_sessions(self, most: int = 0) -> Any:
            raise Fault(STORE_PERMISSION_DENIED, "The store may not be read.")

    class Lost(FixedKeys):
        def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
            raise Fault(KEYRING_INVALID, "The keyring is damaged.")

    store = checked(msgspec.structs.replace(runtime, log=Closed()), "store")
    keyring = checked(msgspec.structs.replace(runtime, keys=Lost()), "keyring")

    assert (store.status, store.details["code"]) == ("fail", "STORE_PERMISSION_DENIED")
    assert (keyring.status, keyring.details["code"]) == ("fail", "KEYRING_INVALID")


def test_a_broken_workflow_file_is_a_warning_with_its_name(runtime: Runtime) -> None:
    runtime.library.add(b"{", "broken.json")  # type: ignore[attr-defined]  # the library of the tests

    check = checked(runtime, "workflow_library")

    assert check.status == "warn"
    assert any("broken" in name for name in check.details["broken"])


DAY = 86_400


def ends_in(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW + seconds))


@pytest.mark.parametrize(
    ("changes", "status", "told"),
    [
        ({"expires_at": ends_in(15 * DAY)}, "pass", ends_in(15 * DAY)),
        ({"expires_at": ends_in(14 * DAY - 60)}, "warn", "ends at"),
        ({"expires_at": ""}, "pass", "until it is ended"),
        ({"trouble": "It ended."}, "fail", "does not take the token"),
        ({"trouble": "No answer.", "is_reachable": False}, "pass", "is not known"),
    ],
)
def test_a_machine_of_a_team_is_told_before_its_token_ends(
    runtime: Runtime, changes: dict[str, Any], status: str, told: str
) -> None:
    team = TeamState(server="https://team.example.com", workspace="", machine="laptop", **changes)

    (check,) = examine(CheckInput(rt=runtime, project="/project", team=lambda: team), ["credentials"])

    assert (check.status, told in check.message) == (status, True)
    assert ("handrail login https://team.example.com" in (check.fix or "")) is (status != "pass")


def test_the_keys_of_ones_own_store_do_not_end(runtime: Runtime) -> None:
    assert checked(runtime, "credentials").status == "pass"


def test_a_project_outside_a_repository_is_a_warning(runtime: Runtime) -> None:
    runtime.workspace.seen.clear()  # type: ignore[attr-defined]  # the workspace of the tests

    assert checked(runtime, "workspace").status == "warn"


def test_checks_run_by_default_with_the_release_gate_last(
    runtime: Runtime,
) -> None:
    names = [check.check for check in examine(CheckInput(rt=runtime, project="/project"), [])]

    assert names == [name for name in CHECK_NAMES if name != "mcp_protocol"]
    assert names[-1] == "release_readiness"
