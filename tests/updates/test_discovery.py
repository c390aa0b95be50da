"""What an index may answer, and what an update then says: code, stage, and which version is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.surfaces.cli.tool import strict_json
from tests.updates.answers import data, error
from tests.updates.releases import HUGE, JSON, NEW, OLD, Index, Installation, name_index, wheel

pytestmark = pytest.mark.thorough

PRE, YANKED, FOREIGN = "7.2.0rc1", "7.3.0", "7.4.0"
ELSEWHERE = "http://127.0.0.1:9/simple/handrail/"


@pytest.fixture(scope="module", autouse=True)
def _offered(_index: Index) -> Iterator[None]:
    """A pre-release, a withdrawn release and one for another Python; none of them is the newest one."""
    before = dict(_index.wheels)
    for version in (PRE, YANKED, FOREIGN):
        path = wheel(_index.folder, version)
        _index.wheels[path.name] = path
    yield
    _index.wheels = before


@pytest.fixture(autouse=True)
def _told(index: Index) -> None:
    index.rows = {YANKED: {"yanked": "broken"}, FOREIGN: {"requires-python": ">=3.99,<4"}}


TROUBLES: list[tuple[str, dict[str, Any], str]] = [
    ("no such package", {"status": 404}, "E_NOT_FOUND"),
    ("not signed in", {"status": 401}, "E_AUTH"),
    ("not allowed", {"status": 403}, "E_FORBIDDEN"),
    ("in conflict with itself", {"status": 409}, "E_CONFLICT"),
    ("too often", {"status": 429}, "E_RATE_LIMITED"),
    ("out of order", {"status": 500}, "E_SERVER"),
    ("away for a while", {"status": 503}, "E_SERVER"),
    ("a listing cut short", {"body": (b'{"files": [', JSON)}, "E_NETWORK"),
    ("a listing of another shape", {"body": (b'{"files": 7}', JSON)}, "E_NETWORK"),
    ("a list", {"body": (b"[]", JSON)}, "E_NETWORK"),
    ("a listing without end", {"body": (b"[" * 100_000, JSON)}, "E_NETWORK"),
    ("a later kind", {"body": (b'{"meta": {"api-version": "2.0"}, "files": []}', JSON)}, "E_NETWORK"),
    ("a page for people", {"body": (b"<html></html>", "text/html")}, "E_NETWORK"),
    ("too much", {"body": (b" " * HUGE, JSON)}, "E_NETWORK"),
    ("an empty listing", {"body": (b'{"files": []}', JSON)}, "E_NOT_FOUND"),
    ("to a file", {"redirect": "file:///etc/passwd"}, "E_INTEGRITY"),
    ("to another protocol", {"redirect": "ftp://127.0.0.1/simple/handrail/"}, "E_INTEGRITY"),
    ("to nobody", {"redirect": ELSEWHERE}, "E_NETWORK"),
    ("round and round", {"redirect": "/simple/handrail/"}, "E_SERVER"),
]


@pytest.mark.promise("cli.upstream")
@pytest.mark.promise("cli.update-stages")
@pytest.mark.parametrize(("_", "trouble", "code"), TROUBLES, ids=[one[0] for one in TROUBLES])
def test_an_index_in_trouble_is_told_by_what_it_answered(
    installation: Installation, index: Index, _: str, trouble: dict[str, Any], code: str
) -> None:
    index.trouble = trouble

    details = error(installation.run("update"), code)

    assert (details["stage"], details["current_version"]) == ("discover", OLD)
    assert (details["binary_replaced"], details["skill_sync_status"]) == (False, "skipped")
    assert code != "E_RATE_LIMITED" or details["retry_after_ms"] == 7000
    assert code != "E_INTEGRITY" or "Do not try again" in details["hint"]


def test_an_index_that_stalls_is_left_at_the_deadline(installation: Installation, index: Index) -> None:
    index.trouble = {"stall": True}

    ran = installation.run("update", "--timeout", "3")  # a busy machine starts in two

    details = error(ran, "E_TIMEOUT")
    assert (details["stage"], details["current_version"]) == ("discover", OLD)


@pytest.mark.promise("cli.update-stages")
def test_an_index_that_is_not_there_is_a_network_failure(installation: Installation, tmp_path: Path) -> None:
    name_index(tmp_path, "http://127.0.0.1:9/simple")
    ran = installation.run("update", environment={"HANDRAIL_HOME": str(tmp_path)})

    assert error(ran, "E_NETWORK")["stage"] == "discover"


@pytest.mark.parametrize(
    ("url", "code"),
    [("gopher://127.0.0.1/simple", "E_VALIDATION"), ("http://agent:pw@127.0.0.1/simple", "E_CONFIG")],
)
def test_an_address_of_another_kind_is_refused(
    installation: Installation, tmp_path: Path, url: str, code: str
) -> None:
    name_index(tmp_path, url)
    ran = installation.run("update", environment={"HANDRAIL_HOME": str(tmp_path)})

    details = error(ran, code)
    assert "update.index" in details["hint"] + strict_json(ran.out)["error"]["message"]
    assert b"agent:pw" not in ran.out + ran.err


@pytest.mark.parametrize(("line", "target"), [((), NEW), (("--target-version", PRE), PRE)])
def test_the_newest_final_release_that_fits_is_offered(
    installation: Installation, index: Index, line: tuple[str, ...], target: str
) -> None:
    told = data(installation.run("update", "--dry-run", *line))

    assert (told["target_version"], told["status"]) == (target, "available")
    assert f"handrail-{target}-py3-none-any.whl#sha256=" in told["command"][-1]


def test_a_withdrawn_release_is_taken_only_by_its_name(installation: Installation) -> None:
    told = data(installation.run("update", "--dry-run", "--target-version", YANKED))

    assert (told["target_version"], told["status"]) == (YANKED, "available")


def test_release_for_another_python_starts_no_manager(installation: Installation, index: Index) -> None:
    details = error(installation.run("update", "--target-version", FOREIGN), "E_NOT_FOUND")

    assert (details["stage"], details["target_version"], details["command"]) == ("discover", FOREIGN, [])


def test_an_index_with_nothing_for_this_python_says_so(installation: Installation, index: Index) -> None:
    index.rows = {version: {"requires-python": ">=9"} for version in (OLD, NEW, PRE, YANKED, FOREIGN)}

    ran = installation.run("update")

    assert error(ran, "E_NOT_FOUND")["id"] == "handrail"
    assert "for this Python" in strict_json(ran.out)["error"]["message"]


def test_nothing_leaves_the_machine_for_what_is_no_version(installation: Installation, index: Index) -> None:
    ran = installation.run("update", "--check", "--target-version", "../x")

    assert error(ran, "E_VALIDATION")["param"] == "--target-version"
    assert index.seen == []


def test_a_listing_may_name_what_is_no_release_of_ours(installation: Installation, index: Index) -> None:
    names = ["handrail-1!9.0-py3-none-any.whl", "handrail-x.y-py3-none-any.whl", "other-9.0-py3-none-any.whl"]
    names += ["handrail-9.0.tar.gz", "handrail-9.0-py3-none-any.whl.asc", "../handrail-9.0-py3-none-any.whl"]
    names += [f"handrail-{OLD}-py3-none-any.whl"]
    rows = [{"filename": name, "url": f"/files/{name}", "hashes": {}} for name in names]
    index.trouble = {"body": (msgspec.json.encode({"files": rows}), JSON)}

    told = data(installation.run("update", "--dry-run"))

    assert (told["status"], told["target_version"]) == ("up_to_date", OLD)
