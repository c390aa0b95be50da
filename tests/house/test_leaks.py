"""Nothing in the repository names somebody's machine or the host packages came from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.house.tree import Source, check, text_files

# A class of one character keeps the patterns from finding themselves.
MACHINE_PATH = re.compile(r"(?<![\w.~$}-])/(?:home|root|work|tmp|Users)/")
PACKAGE_HOST = re.compile(
    r"[p]ypi\b|[p]ythonhosted|[n]pmjs|[d]eb\.debian|[d]eb\.nodesource|[a]rchive\.ubuntu|[s]ecurity\.ubuntu"
)

MERGE_MARK = re.compile(r"^(?:[<]{7} |[>]{7} )")


INDEX_SPEAKERS = (
    "src/handrail/program/update/verify_release.py",
    "src/handrail/ports/program.py",
    "tests/updates/trust_world.py",
    "tests/program/update/test_attestations.py",
    ".github/workflows/release.yml",
    "src/handrail/host/program/updates.py",
    "src/handrail/program/update/find_release.py",
    "tests/updates/releases.py",
    "tests/conformance/planted_index.py",
)
"""`update` begins with the index that every installer begins with, asks in the standard media types, and
knows a statement of publication by its standard name."""


def machine_paths(sources: Sequence[Source]) -> list[str]:
    """Tests may invent such paths as data."""
    return _found(
        [source for source in sources if not source.path.startswith("tests/")],
        MACHINE_PATH,
        "names a place on one machine; use a relative path, an environment variable or a placeholder",
    )


def package_hosts(sources: Sequence[Source]) -> list[str]:
    others = [source for source in sources if source.path not in INDEX_SPEAKERS]
    return _found(others, PACKAGE_HOST, "names a package host; leave it to the reader's own configuration")


def _found(sources: Sequence[Source], pattern: re.Pattern[str], advice: str) -> list[str]:
    what, todo = advice.split("; ")
    return [
        f"{source.path}:{number}: {match.group()} {what}; {todo}"
        for source in sources
        for number, line in enumerate(source.text.splitlines(), start=1)
        if (match := pattern.search(line))
    ]


def test_no_file_has_marks_of_a_merge() -> None:
    check(_found(text_files(), MERGE_MARK, "is a mark of a merge; choose one side"))


def test_no_file_names_a_place_on_one_machine() -> None:
    check(machine_paths(text_files()))


def test_no_file_names_a_package_host() -> None:
    check(package_hosts(text_files()))
