"""The session and ledger commands as strangers meet them: files out and in, raw reports, the gate."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from handrail.host.authored_files import ProjectFiles
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.engine.bundles.made import rich_bundle
from tests.journeys.rich_session import rich_session
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.tool import checked_document, strict_json


@pytest.fixture
def session_id(runtime: Runtime) -> str:
    return str(rich_session(runtime)["session"]["sessionId"])


def test_a_bundle_goes_into_a_new_file_for_its_owner_alone(tmp_path: Path) -> None:
    runtime = msgspec.structs.replace(memory_runtime(), authored=ProjectFiles())
    session_id = rich_session(runtime)["session"]["sessionId"]
    path = tmp_path / "out.json"
    before = os.umask(0)

    try:
        ran = run_here(runtime, ["session", "export", session_id, "--out", str(path)])
        again = run_here(runtime, ["session", "export", session_id, "--out", str(path)])
    finally:
        os.umask(before)

    data = checked_document(ran)["data"]
    content = path.read_bytes()
    assert (data["path"], data["bytes"]) == (str(path), len(content))
    assert data["sha256"] == hashlib.sha256(content).hexdigest()
    assert "content" not in data
    assert json.loads(content)["bundleId"] == data["bundle_id"]
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (again.status, checked_document(again)["error"]["details"]["reason"]) == (6, "target_exists")
    assert path.read_bytes() == content


def test_a_file_is_never_put_where_there_is_no_directory(tmp_path: Path) -> None:
    runtime = msgspec.structs.replace(memory_runtime(), authored=ProjectFiles())
    session_id = rich_session(runtime)["session"]["sessionId"]

    ran = run_here(runtime, ["session", "export", session_id, "--out", str(tmp_path / "no" / "out.json")])

    error = checked_document(ran)["error"]
    assert (error["code"], error["details"]["resource"]) == ("E_NOT_FOUND", "directory")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("cli.raw")
def test_a_raw_bundle_is_the_document_itself(runtime: Runtime, session_id: str) -> None:
    ran = run_here(runtime, ["session", "export", session_id, "--format", "raw"])

    assert strict_json(ran.out) == rich_bundle()


def test_a_file_that_is_no_text_is_refused_by_its_code(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"bundleSchemaVersion": 1, "x": "\xff"}')

    ran = run_here(runtime, ["session", "import", str(tmp_path / "latin.json"), "--dry-run"])

    assert (ran.status, checked_document(ran)["error"]["details"]["domain_code"]) == (
        2,
        "BUNDLE_INVALID_FORMAT",
    )
