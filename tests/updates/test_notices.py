"""A look at the index becomes a notice: its level by what the release says, its age by the clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.host.program.fetching import FETCH_SECONDS
from tests.surfaces.cli.tool import Ran, strict_json
from tests.updates.answers import data, error
from tests.updates.releases import NEW, OLD, Index, Installation, changelog, metadata, name_index

pytestmark = pytest.mark.thorough

MINOR = "0.2.0"
Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def _minor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    made = Index(tmp_path_factory.mktemp("minor"), (OLD, MINOR))
    yield made
    made.close()


@pytest.fixture
def minor(_minor: Index) -> Iterator[Index]:
    """An index whose newest release is a small step."""
    yield _minor
    _minor.healthy()


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Index]:
    """An index that still offers a release before the installed one."""
    (tmp_path / "older").mkdir()
    made = Index(tmp_path / "older", ("0.0.9", OLD))
    yield made
    made.close()


@pytest.fixture
def run(installation: Installation, minor: Index, tmp_path: Path) -> Run:
    """In a home of its own, so that nothing is remembered yet."""

    def runs(*arguments: str, index: Index = minor) -> Ran:
        name_index(tmp_path / "home", index.url)
        return installation.run(*arguments, environment={"HANDRAIL_HOME": str(tmp_path / "home")})

    return runs


def kept(tmp_path: Path, name: str = "notices.json") -> Any:
    return json.loads((tmp_path / "home/data/cache" / name).read_bytes())


GRADES: list[tuple[str, tuple[tuple[str, str], ...], tuple[str, str]]] = [
    ("an ordinary step", ((MINOR, "Added"), (OLD, "Security")), ("info", "changelog")),
    ("a hole is closed", ((MINOR, "Security"),), ("warning", "changelog")),
    ("a hole was closed on the way", ((MINOR, "Fixed"), ("0.1.5", "Security")), ("warning", "changelog")),
    ("a hole is closed later", (("0.3.0", "Security"), (MINOR, "Fixed")), ("info", "changelog")),
    ("a changelog that ends before it", ((OLD, "Security"),), ("info", "version")),
]


@pytest.mark.promise("cli.update-severity")
@pytest.mark.parametrize(("_", "entries", "expected"), GRADES, ids=[one[0] for one in GRADES])
def test_the_changelog_of_the_release_decides_the_level(
    run: Run, minor: Index, tmp_path: Path, _: str, entries: Any, expected: tuple[str, str]
) -> None:
    minor.metadata = {MINOR: metadata(MINOR, changelog(*entries))}

    told = data(run("update", "--check"))
    context = strict_json(run("context").out)

    (notice,) = told["notices"]
    assert (notice["severity"], notice["severity_basis"]) == expected
    assert (notice["type"], notice["current_version"], notice["latest_version"]) == (
        "update_available",
        OLD,
        MINOR,
    )
    assert (notice["install_method"], notice["recommended_command"]) == ("uv-tool", "handrail update")
    assert notice["checked_at"].endswith("Z")
    assert kept(tmp_path) == context["data"]["notices"] == told["notices"]
    assert [one["severity"] for one in context["meta"]["notices"]] == [expected[0]]


@pytest.mark.parametrize("how", ["another digest", "not there", "no changelog", "no zip"])
def test_a_release_that_says_nothing_is_graded_by_its_version(
    run: Run, minor: Index, tmp_path: Path, how: str
) -> None:
    secure = changelog((MINOR, "Security"))
    plain = dict(minor.wheels)
    match how:
        case "another digest":
            minor.metadata = {MINOR: metadata(MINOR, secure)}
            minor.rows = {MINOR: {"core-metadata": {"sha256": "0" * 64}}}
        case "not there":
            minor.rows = {MINOR: {"core-metadata": True}}
        case "no changelog":
            minor.metadata = {MINOR: metadata(MINOR, secure.replace("# Changelog", "# History"))}
        case _:
            (tmp_path / f"handrail-{MINOR}-py3-none-any.whl").write_bytes(b"PK no zip")
            minor.wheels[f"handrail-{MINOR}-py3-none-any.whl"] = (
                tmp_path / f"handrail-{MINOR}-py3-none-any.whl"
            )

    (notice,) = data(run("update", "--check"))["notices"]
    minor.wheels = plain

    assert (notice["severity"], notice["severity_basis"]) == ("info", "version")


@pytest.mark.promise("cli.update-severity")
def test_a_major_step_is_a_warning_whatever_it_says(run: Run, index: Index) -> None:
    index.metadata = {NEW: metadata(NEW, changelog((NEW, "Added")))}

    (notice,) = data(run("update", "--check", index=index))["notices"]

    assert (notice["severity"], notice["severity_basis"]) == ("warning", "changelog")


def test_the_release_page_is_the_one_that_the_release_names(run: Run, minor: Index) -> None:
    said = metadata(MINOR).decode() + "Project-URL: Changelog, https://example.org/changes\n\nText.\n"
    minor.metadata = {MINOR: said.encode()}

    (notice,) = data(run("update", "--check"))["notices"]

    assert notice["release_url"] == "https://example.org/changes"


@pytest.mark.promise("cli.update-look")
@pytest.mark.parametrize("line", [("--target-version", MINOR), ("--target-version", MINOR, "--verify")])
def test_recommended_command_brings_the_told_release(run: Run, line: tuple[str, ...]) -> None:
    told = data(run("update", "--check", *line))
    (notice,) = told["notices"]

    again = data(run(*notice["recommended_command"].split()[1:], "--check"))

    assert notice["recommended_command"] == told["hint"] == notice["next_steps"][0]
    assert notice["recommended_command"] == f"handrail update {' '.join(line)}"
    assert again["target_version"] == told["target_version"] == MINOR


@pytest.mark.promise("cli.update-look")
def test_older_release_is_no_update(run: Run, older: Index) -> None:
    """An older release is offered by its name and not as an update."""
    told = data(run("update", "--check", "--target-version", "0.0.9", index=older))

    assert (told["status"], told["target_version"]) == ("available", "0.0.9")
    assert (told["update_available"], told["notices"]) == (False, [])
    assert told["hint"] == "handrail update --target-version 0.0.9"
    assert told["command"]


@pytest.mark.promise("cli.update-stages")
@pytest.mark.parametrize("look", [("--check",), ("--dry-run",)])
def test_after_a_look_that_failed_the_advice_is_to_look_again(
    run: Run, minor: Index, look: tuple[str, ...]
) -> None:
    minor.trouble = {"status": 503}

    details = error(run("update", *look), "E_SERVER")

    assert all(word in details["hint"] for word in look)


def test_only_a_look_for_the_newest_release_is_remembered(run: Run, tmp_path: Path) -> None:
    data(run("update", "--check", "--target-version", MINOR))
    data(run("update", "--dry-run"))

    assert not (tmp_path / "home/data/cache").exists()


def doctored(ran: Ran) -> Any:
    (check,) = data(ran)["checks"]
    return check


@pytest.mark.promise("cli.update-doctor")
def test_doctor_looks_once_a_day_and_says_the_same_in_between(run: Run, minor: Index, tmp_path: Path) -> None:
    minor.metadata = {MINOR: metadata(MINOR, changelog((MINOR, "Added")))}

    first = run("doctor", "--checks", "update")
    looked = len(minor.seen)
    again = run("doctor", "--checks", "update")

    check = doctored(first)
    assert (check["status"], check["fix"]) == ("warn", "handrail update")
    assert (check["details"]["latest_version"], check["details"]["notice"]) == (MINOR, kept(tmp_path)[0])
    assert [one["severity"] for one in strict_json(first.out)["meta"]["notices"]] == ["info"]
    assert (looked, len(minor.seen)) == (2, 2)
    assert strict_json(first.out)["data"] == strict_json(again.out)["data"]


@pytest.mark.parametrize(
    "change", [{"checked_unix": -86_400}, {"checked_unix": 90}, {"version": "0.0.1"}, {"index": "x"}]
)
def test_old_future_or_foreign_look_is_made_again(
    run: Run, minor: Index, tmp_path: Path, change: dict[str, Any]
) -> None:
    data(run("update", "--check"))
    look = kept(tmp_path, "update-check.json")
    moved = {name: look[name] + value if isinstance(value, int) else value for name, value in change.items()}
    (tmp_path / "home/data/cache/update-check.json").write_text(
        json.dumps({**look, **moved}), encoding="utf-8"
    )
    minor.seen.clear()

    doctored(run("doctor", "--checks", "update"))

    assert minor.seen != []
    assert kept(tmp_path, "update-check.json")["version"] == OLD


def test_doctor_remembers_that_the_version_is_newest(run: Run, minor: Index, tmp_path: Path) -> None:
    minor.rows = {MINOR: {"yanked": True}}

    check = doctored(run("doctor", "--checks", "update"))
    looked = len(minor.seen)
    doctored(run("doctor", "--checks", "update"))

    assert (check["status"], check["fix"], check["details"]["latest_version"]) == ("pass", None, OLD)
    assert not (tmp_path / "home/data/cache/notices.json").exists()
    assert (looked, len(minor.seen)) == (1, 1)


@pytest.mark.parametrize("line", [("--offline",), ("--offline", "--checks", "update"), ("--checks", "path")])
def test_doctor_asks_no_index_unless_it_may_and_must(run: Run, minor: Index, line: tuple[str, ...]) -> None:
    data(run("doctor", *line))

    assert minor.seen == []


def test_offline_the_last_look_counts_however_old(run: Run, minor: Index, tmp_path: Path) -> None:
    data(run("update", "--check"))
    look = kept(tmp_path, "update-check.json")
    old = json.dumps({**look, "checked_unix": 0})
    (tmp_path / "home/data/cache/update-check.json").write_text(old, encoding="utf-8")
    minor.seen.clear()

    check = doctored(run("doctor", "--offline", "--checks", "update"))

    assert (check["status"], check["details"]["latest_version"]) == ("warn", MINOR)
    assert minor.seen == []


@pytest.mark.promise("cli.update-doctor")
@pytest.mark.parametrize("trouble", [{"stall": True}, {"status": 500}, {"body": (b"x", "image/png")}])
def test_an_index_in_trouble_is_a_warning_and_is_not_waited_for(
    run: Run, minor: Index, trouble: dict[str, Any]
) -> None:
    minor.trouble = trouble

    ran = run("doctor", "--checks", "update,settings")

    check = data(ran)["checks"][1]
    assert (check["status"], check["fix"]) == ("warn", "handrail update --check")
    assert data(ran)["summary"]["fail"] == 0
    assert "Nothing was changed" not in check["message"]
    # A look of its own is given up long before an index that the user asked for.
    assert strict_json(ran.out)["meta"]["duration_ms"] < 1_000 * FETCH_SECONDS
