"""Signatures of a trust world of our own, judged by the real library; installed files, compared."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import pytest

from handrail.host.program import provenance as subject
from handrail.host.program.provenance import LocalProvenance
from handrail.ports.program import (
    Checked,
    JudgedBundle,
    NotChecked,
    NotTrusting,
    ProvenanceOrder,
    identity_of,
)
from handrail.program.update.verify_release import read_bundles
from tests.updates.trust_world import Flaw, TrustWorld

pytestmark = pytest.mark.thorough

needs_library = pytest.mark.skipif(
    find_spec("sigstore") is None, reason="the extra `verify` is not installed"
)
NAME, DIGEST, VERSION = "handrail-7.1.0-py3-none-any.whl", "ab" * 32, "7.1.0"
FLAWS: dict[Flaw, str] = {
    "changed statement": "bad_signature",
    "other key signed": "bad_signature",
    "no certificate log": "bad_signature",
    "other log": "bad_signature",
    "changed log entry": "bad_signature",
    "later time": "bad_signature",
    "foreign authority": "untrusted_certificate",
    "expired": "untrusted_certificate",
    "no log entry": "malformed_bundle",
    "two log entries": "malformed_bundle",
    "no inclusion proof": "malformed_bundle",
    "no certificate": "malformed_bundle",
}
STRANGERS: dict[str, tuple[dict[str, str], str]] = {
    "issuer": ({"issuer": "https://accounts.example.org"}, "issuer"),
    "repository": ({"repository": "https://github.com/handrail.example/handrails"}, "repository"),
    "other tag": ({"tag": "refs/tags/v7.1.1"}, "tag"),
    "longer tag": ({"tag": "refs/tags/v7.1.0.1"}, "tag"),
    "branch": ({"tag": "refs/heads/v7.1.0"}, "tag"),
    "workflow": ({"workflow": ".github/workflows/other.yml"}, "workflow"),
}


def ordered(world: TrustWorld, root: Path, *attestations: dict[str, Any]) -> ProvenanceOrder:
    return ProvenanceOrder(
        bundles=tuple(read_bundles(world.provenance(one))[0] for one in attestations),
        identity=identity_of(VERSION),
        trusted_root=str(root),
    )


def never() -> str:
    return ""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, JudgedBundle]:
    """Every flaw and every stranger in one start of the library, which is dear."""
    world = TrustWorld()
    root = world.write_root(tmp_path_factory.mktemp("trust") / "root.json")
    signed: dict[str, dict[str, Any]] = {
        "": world.attestation(NAME, DIGEST, VERSION),
        **{flaw: world.attestation(NAME, DIGEST, VERSION, flaw=flaw) for flaw in FLAWS},
        **{
            who: world.attestation(NAME, DIGEST, VERSION, **given)  # type: ignore[arg-type]  # only texts
            for who, (given, _) in STRANGERS.items()
        },
    }
    answer = LocalProvenance(os.environ).check(ordered(world, root, *signed.values()), never)
    assert isinstance(answer, Checked)
    return dict(zip(signed, answer.judged, strict=True))


@needs_library
def test_a_sound_signature_gives_the_statement_that_was_signed(judged: dict[str, JudgedBundle]) -> None:
    sound = judged[""]

    assert (sound.refusal, sound.mismatch) == (None, None)
    assert DIGEST.encode() in sound.statement


def test_every_flaw_of_the_trust_world_is_tried() -> None:
    assert set(FLAWS) == set(get_args(Flaw)) - {""}


@needs_library
@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_is_found(judged: dict[str, JudgedBundle], flaw: Flaw) -> None:
    assert (judged[flaw].refusal, judged[flaw].statement) == (FLAWS[flaw], b"")


@needs_library
@pytest.mark.parametrize("who", STRANGERS)
def test_a_stranger_with_a_sound_signature_is_found(judged: dict[str, JudgedBundle], who: str) -> None:
    assert (judged[who].refusal, judged[who].mismatch) == ("wrong_identity", STRANGERS[who][1])
    assert judged[who].statement == b""


@needs_library
@pytest.mark.parametrize("content", [None, "{}", "no root"], ids=["missing", "empty", "damaged"])
def test_a_root_that_cannot_be_read_is_told(tmp_path: Path, content: str | None) -> None:
    root = tmp_path / "root.json"
    if content is not None:
        root.write_text(content, encoding="utf-8")

    answer = LocalProvenance(os.environ).check(ordered(TrustWorld(), root), never)

    assert answer == NotTrusting(trouble="unreadable")


def test_a_root_is_not_looked_for_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = TrustWorld()
    world.write_root(tmp_path / "root.json")
    monkeypatch.chdir(tmp_path)

    answer = LocalProvenance(os.environ).check(ordered(world, Path("root.json")), never)

    assert answer == NotTrusting(trouble="unreadable")


@needs_library
@pytest.mark.parametrize("word", ["signal", "deadline"])
def test_a_call_that_shall_end_does_not_wait_for_the_check(tmp_path: Path, word: str) -> None:
    os.mkfifo(tmp_path / "root")  # Nobody writes: the check would wait for ever.
    order = ordered(TrustWorld(), tmp_path / "root")

    answer = LocalProvenance(os.environ).check(order, lambda: word)

    assert answer == NotChecked(why=word)  # type: ignore[arg-type] # one of the two


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("raise ImportError\n", "not_loaded"),
        ("print('loaded', flush=True)\nraise SystemExit(9)\n", "ended"),
        ("print('loaded')\nprint('{\"type\": \"checked\"}')\n", "ended"),
    ],
    ids=["without its library", "killed", "half an answer"],
)
def test_a_check_that_ends_without_an_answer_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    (tmp_path / "stand_in.py").write_text(script, encoding="utf-8")
    monkeypatch.setattr(subject, "_CHILD", "stand_in")
    monkeypatch.setattr(sys, "executable", _with_path(tmp_path))

    answer = LocalProvenance(os.environ).check(ordered(TrustWorld(), tmp_path / "root"), never)

    assert answer == NotChecked(why=why)  # type: ignore[arg-type] # one of the two


def _with_path(folder: Path) -> str:
    """An interpreter that finds the stand-in."""
    program = folder / "python"
    real = shutil.which("python3") or "python3"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec {real} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return str(program)


INFORMATION = "handrail-7.1.0.dist-info"
HELD = {
    "handrail/__init__.py": b"__version__ = '7.1.0'\n",
    "handrail/host/clock.py": b"",
    f"{INFORMATION}/METADATA": b"Name: handrail\n",
    f"{INFORMATION}/RECORD": b"handrail/__init__.py,,\n",
}


@pytest.fixture
def wheel(tmp_path: Path) -> bytes:
    path = tmp_path / "release.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in HELD.items():
            archive.writestr(name, content)
    return path.read_bytes()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """What a manager makes of that wheel, with what managers add."""
    folder = tmp_path / "site-packages"
    for name, content in HELD.items():
        put(folder / name, content)
    put(folder / INFORMATION / "INSTALLER", b"uv")
    put(folder / INFORMATION / "REQUESTED", b"")
    put(folder / "msgspec" / "__init__.py", b"somebody else's")
    rows = [*HELD, f"{INFORMATION}/INSTALLER", "../../../bin/handrail"]
    put(folder / INFORMATION / "RECORD", "".join(f"{name},,\n" for name in rows).encode())
    return folder


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def difference(site: Path, wheel: bytes) -> str:
    return LocalProvenance({}, str(site)).difference(wheel)


def test_what_was_installed_from_the_wheel_does_not_differ(site: Path, wheel: bytes) -> None:
    assert difference(site, wheel) == ""


def test_a_manager_that_installed_nothing_left_no_difference(site: Path, wheel: bytes) -> None:
    (site / INFORMATION).rename(site / "handrail-0.1.0.dist-info")

    assert difference(site, wheel) == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("handrail/__init__.py", b"__version__ = '7.1.1'\n"),
        ("handrail/added.py", b""),
        ("handrail/__init__.pyc", b"compiled elsewhere"),
        ("handrail/host/clock.py", None),
        (f"{INFORMATION}/METADATA", b"Name: handrail\nRequires-Dist: evil\n"),
        (f"{INFORMATION}/entry_points.txt", b"[console_scripts]\n"),
    ],
)
def test_a_file_that_is_not_the_verified_one_is_named(
    site: Path, wheel: bytes, name: str, content: bytes | None
) -> None:
    if content is None:
        (site / name).unlink()
    else:
        put(site / name, content)

    assert difference(site, wheel) == name


def test_a_file_that_was_put_beside_the_package_is_named(site: Path, wheel: bytes) -> None:
    record = site / INFORMATION / "RECORD"
    record.write_bytes(record.read_bytes() + b"zz_evil.pth,,\n")

    assert difference(site, wheel) == "zz_evil.pth"


def test_compiled_code_is_thrown_away_because_nobody_verified_it(site: Path, wheel: bytes) -> None:
    compiled = site / "handrail" / "host" / "__pycache__" / "clock.cpython-311.pyc"
    put(compiled, b"compiled elsewhere")

    assert difference(site, wheel) == ""
    assert not compiled.parent.exists()


@pytest.mark.parametrize("damage", ["no wheel", "no record"])
def test_what_cannot_be_compared_counts_as_different(site: Path, wheel: bytes, damage: str) -> None:
    if damage == "no record":
        (site / INFORMATION / "RECORD").unlink()

    assert difference(site, b"no wheel" if damage == "no wheel" else wheel) == "RECORD"
