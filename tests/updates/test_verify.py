"""`handrail update --verify` as a process: signatures of a trust world of our own, judged by the library."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli.tool import Ran
from tests.updates.answers import data
from tests.updates.answers import error as failure
from tests.updates.attested_index import WHEEL, AttestedIndex
from tests.updates.releases import NEW, OLD, SECONDS, Installation, name_index
from tests.updates.trust_world import TrustWorld

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed"),
    pytest.mark.skipif(find_spec("sigstore") is None, reason="the extra `verify` is not installed"),
]
DEAD = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttestedIndex]:
    made = AttestedIndex(tmp_path_factory.mktemp("attested"), TrustWorld())
    yield made
    made.close()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, index: AttestedIndex) -> Installation:
    """One that no test changes."""
    return trusting(Installation(tmp_path_factory.mktemp("trusting"), index).by_uv_tool(), index)


@pytest.fixture(autouse=True)
def _restored(index: AttestedIndex) -> Iterator[None]:
    yield
    index.restore()


def trusting(installed: Installation, index: AttestedIndex, **update: Any) -> Installation:
    """An installation whose user trusts the world of this index."""
    root = index.world.write_root(installed.folder / "trusted_root.json")
    name_index(installed.home / ".handrail", index.url, trustedRoot=str(root), **update)
    return installed


def error(ran: Ran, code: str) -> Any:
    """The failure, which must be one of this stage."""
    details = failure(ran, code)
    assert details["stage"] == "verify_signature"
    return details


@pytest.mark.promise("cli.update-signature")
def test_release_with_sound_provenance_is_verified(tmp_path: Path, index: AttestedIndex) -> None:
    installed = trusting(Installation(tmp_path, index).by_uv_tool(), index)

    told = data(installed.run("update", "--verify"))
    again = data(installed.run("update", "--verify"))

    assert (told["status"], told["current_version"]) == ("updated", NEW)
    assert (told["signature_status"], told["signature_verified"]) == ("verified", True)
    assert told["sha256"] == hashlib.sha256(index.wheels[WHEEL].read_bytes()).hexdigest()
    assert told["command"][-1].endswith(f"#sha256={told['sha256']}")
    assert installed.version() == NEW
    assert (again["status"], again["signature_status"]) == ("up_to_date", "not_checked")
    assert "sha256" not in again


def test_setting_verifies_as_the_flag_does(tmp_path: Path, index: AttestedIndex) -> None:
    """The setting does what the flag does and pip gets the same release."""
    installed = trusting(Installation(tmp_path, index).by_venv(), index, verify=True)
    told = data(installed.run("update"))

    assert (told["signature_status"], told["current_version"]) == ("verified", NEW)


@pytest.mark.other_manager
@pytest.mark.parametrize("manager", ["pip", "pipx"])
def test_pip_and_pipx_install_the_verified_release_as_well(
    tmp_path: Path, index: AttestedIndex, manager: str
) -> None:
    installed = trusting(Installation(tmp_path, index), index)
    if manager == "pip":
        installed.by_pip().environment["PIP_INDEX_URL"] = index.url
    else:
        installed.by_pipx("uv")

    told = data(installed.run("update", "--verify"))

    assert (told["signature_status"], told["install_method"]) == ("verified", manager)
    assert installed.version() == NEW


def never_signed(index: AttestedIndex) -> None:
    index.provenance = None


def lost(index: AttestedIndex) -> None:
    index.status = 404


def changed(index: AttestedIndex) -> None:
    index.is_tampered = True


@pytest.mark.promise("cli.update-signature")
@pytest.mark.parametrize(
    ("break_it", "reason", "mismatch"),
    [
        (lambda index: index.sign("changed statement"), "bad_signature", None),
        (lambda index: index.sign("expired"), "untrusted_certificate", None),
        (lambda index: index.sign("no log entry"), "malformed_bundle", None),
        (lambda index: index.sign(tag="refs/tags/v7.1.1"), "wrong_identity", "tag"),
        (lambda index: index.sign(sha256="0" * 64), "other_subject", None),
        (never_signed, "no_provenance", None),
        (lost, "no_provenance", None),
        (changed, "other_subject", None),
    ],
    ids=["signature", "expired", "no log entry", "tag", "content", "never signed", "lost", "changed wheel"],
)
def test_release_with_false_provenance_is_refused(
    installation: Installation,
    index: AttestedIndex,
    break_it: Callable[[AttestedIndex], None],
    reason: str,
    mismatch: str | None,
) -> None:
    break_it(index)

    details = error(installation.run("update", "--verify"), "E_INTEGRITY")

    assert (details["reason"], details.get("mismatch")) == (reason, mismatch)
    assert (details["current_version"], details["target_version"]) == (OLD, NEW)
    assert (details["binary_replaced"], details["command"]) == (False, [])
    assert "Do not try again" in details["hint"]
    assert installation.version() == OLD


@pytest.mark.parametrize("flag", ["--check", "--dry-run"])
@pytest.mark.parametrize("is_offered", [True, False])
def test_a_look_tells_whether_a_signature_could_be_checked(
    installation: Installation, index: AttestedIndex, flag: str, is_offered: bool
) -> None:
    index.provenance = index.provenance if is_offered else None

    told = data(installation.run("update", flag, "--verify"))

    assert (told["signature_available"], told["signature_status"]) == (is_offered, "not_checked")
    assert told["hint"] == "handrail update --verify"


def test_unavailable_provenance_may_be_retried(installation: Installation, index: AttestedIndex) -> None:
    index.status = 503

    details = error(installation.run("update", "--verify"), "E_SERVER")

    assert (details["current_version"], details["binary_replaced"]) == (OLD, False)
    assert details["hint"] == "Run handrail update --verify again; a repeat is safe."


def test_outdated_keys_are_a_network_failure(installation: Installation, tmp_path: Path) -> None:
    """The default trust is the public Sigstore, which is behind a dead proxy here."""
    environment = {"HTTPS_PROXY": DEAD, "https_proxy": DEAD, "HANDRAIL_HOME": str(tmp_path)}
    name_index(tmp_path, installation.index.url)

    details = error(installation.run("update", "--verify", environment=environment), "E_NETWORK")

    assert (details["cause"], details["current_version"]) == ("trusted_root", OLD)
    assert details["binary_replaced"] is False


def test_missing_extra_is_told_before_any_index_is_asked(tmp_path: Path, index: AttestedIndex) -> None:
    """Without the extra, the line that installs it is reported before any index is asked."""
    installed = Installation(tmp_path, index).by_uv_tool()
    hide(installed, "sigstore")
    name_index(tmp_path / "nowhere", f"{DEAD}/simple")
    nowhere = {"HANDRAIL_HOME": str(tmp_path / "nowhere")}

    details = error(installed.run("update", "--verify", environment=nowhere), "E_CONFIG")
    look = data(installed.run("update", "--check", "--verify"))

    assert details["install_command"][:4] == ["uv", "tool", "install", "--force"]
    assert details["install_command"][-1] == ".[verify]"
    assert "'.[verify]'" in details["hint"]
    assert (details["reason"], details["setting"]) == ("extra_missing", "update.verify")
    assert look["signature_available"] is False


def hide(installed: Installation, name: str) -> None:
    """Take one library away from what the installation borrows."""
    site = next(installed.python.parent.parent.glob("lib/python*/site-packages"))
    borrowed = Path((site / "borrowed.pth").read_text(encoding="utf-8").strip())
    shelf = installed.folder / "shelf"
    shelf.mkdir()
    for found in borrowed.iterdir():
        if not found.name.startswith(name):
            (shelf / found.name).symlink_to(found)
    (site / "borrowed.pth").write_text(f"{shelf}\n", encoding="utf-8")


def test_manager_with_another_file_is_not_started(tmp_path: Path, index: AttestedIndex) -> None:
    """A manager that installs something else is found out before it is started."""
    installed = trusting(Installation(tmp_path, index).by_uv_tool(), index)
    site = next(installed.python.parent.parent.glob("lib/python*/site-packages"))
    real = shutil.which("uv")
    started = tmp_path / "started"
    manager = tmp_path / "bin2" / "uv"
    manager.parent.mkdir()
    manager.write_text(
        f'#!/bin/sh\n"{real}" "$@"\necho \'open({str(started)!r}, "w")\' >> "{site}/handrail/__init__.py"\n',
        encoding="utf-8",
    )
    manager.chmod(0o755)

    path = f"{manager.parent}{os.pathsep}{installed.environment['PATH']}"
    details = error(installed.run("update", "--verify", environment={"PATH": path}), "E_INTEGRITY")

    assert (details["reason"], details["path"]) == ("installed_differs", "handrail/__init__.py")
    assert (details["current_version"], details["binary_replaced"]) == (None, True)
    assert "Do not start handrail" in details["hint"]
    assert not started.exists()


def interrupted(installation: Installation, home: Path, is_there: Callable[[], bool]) -> Any:
    """The failure of an update that gets a signal once it is there."""
    with subprocess.Popen(
        installation.command("update", "--verify"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**installation.environment, "HANDRAIL_HOME": str(home)},
        cwd=installation.folder,
    ) as child:
        for _ in range(SECONDS * 20):
            if is_there():
                break
            with pytest.raises(subprocess.TimeoutExpired):  # it does not end by itself
                child.wait(timeout=0.05)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=SECONDS)
    return error(Ran(status=child.returncode, out=out, err=b""), "E_INTERRUPTED")


def test_signal_during_the_signature_check_is_told(installation: Installation, tmp_path: Path) -> None:
    """The check waits for ever: its trusted root is a pipe that nobody writes to."""
    pipe = tmp_path / "root"
    os.mkfifo(pipe)
    name_index(tmp_path, installation.index.url, trustedRoot=str(pipe))
    opened: list[int] = []

    def is_read() -> bool:
        with suppress(OSError):  # until the check has opened its end
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return opened != []

    details = interrupted(installation, tmp_path, is_read)
    os.close(opened[0])

    assert (details["current_version"], details["binary_replaced"]) == (OLD, False)
    assert details["committed"] is False


def test_signal_during_the_provenance_fetch_is_told(
    installation: Installation, index: AttestedIndex, tmp_path: Path
) -> None:
    index.is_stalling = True
    name_index(tmp_path, index.url)

    details = interrupted(installation, tmp_path, index.asked.is_set)

    assert (details["current_version"], details["committed"]) == (OLD, False)
