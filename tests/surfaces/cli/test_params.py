"""Files, stdin, `--input` and flags become one input; what contradicts itself is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.contract.outcome import Fault, Json
from handrail.surfaces.cli.process import Process
from handrail.surfaces.cli.reading.params import params_of
from handrail.surfaces.cli.reading.parse import parse
from handrail.wiring import build_runtime


@pytest.fixture
def process() -> Process:
    """A process whose descriptors and signals nobody took over."""
    return Process()


@pytest.fixture
def stdin() -> Iterator[int]:
    """The write end of a pipe that stands as descriptor 0 for the test."""
    saved = os.dup(0)
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    yield writer
    os.dup2(saved, 0)
    os.close(saved)


def params(process: Process, *line: str) -> dict[str, Json]:
    parsed = parse(line)
    assert parsed.problems == ()
    return params_of(parsed, process, build_runtime({}, home="/nowhere"))


def check_refused(code: str, process: Process, *line: str) -> Fault:
    with pytest.raises(Fault) as raised:
        params(process, *line)

    assert raised.value.kind.code == code
    return raised.value


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["workflow", "list"], {}),
        (["workflow", "list", "--limit", "2", "--project", "p"], {"limit": 2, "project": "p"}),
        (["session", "show", "s", "--project", "p"], {"sessionId": "s"}),
        (["run", "continue", "--notes", "x"], {"output": {"notesMarkdown": "x"}}),
        (
            ["run", "continue", "--input", '{"ackToken":"a","output":{"artifacts":[]}}', "--notes", "x"],
            {"ackToken": "a", "output": {"artifacts": [], "notesMarkdown": "x"}},
        ),
        (["run", "continue", "--input", '{"ackToken":"a"}', "--ack", "a"], {"ackToken": "a"}),
        (
            ["lafs", "check", "--input", '{"documents":[]}', "--report-only"],
            {"documents": [], "reportOnly": True},
        ),
    ],
)
def test_flags_and_input_are_merged(process: Process, line: list[str], expected: dict[str, Json]) -> None:
    assert params(process, *line) == expected


@pytest.mark.parametrize(
    "line",
    [
        ["run", "continue", "--input", '{"ackToken":"a"}', "--ack", "b"],
        ["run", "continue", "--input", '{"output":{"notesMarkdown":"a"}}', "--notes", "b"],
        ["run", "continue", "--input", '{"output":"text"}', "--notes", "b"],
        ["workflow", "list", "--input", '{"project":"a"}', "--project", "b"],
        ["workflow", "list", "--input", '{"limit":1}', "--limit", "2"],
    ],
)
def test_a_field_given_twice_with_different_values_is_refused(process: Process, line: list[str]) -> None:
    check_refused("E_USAGE", process, *line)


def test_all_fields_given_twice_are_told_at_once(process: Process) -> None:
    given = '{"ackToken":"a","stateToken":"s"}'

    fault = check_refused(
        "E_USAGE", process, "run", "continue", "--input", given, "--ack", "b", "--state", "t"
    )

    assert [problem["param"] for problem in fault.details["problems"]] == ["--ack", "--state"]


def test_files_bring_notes_context_and_the_whole_input(process: Process, tmp_path: Path) -> None:
    notes, context, whole = tmp_path / "n.md", tmp_path / "c.json", tmp_path / "é.json"
    notes.write_bytes("früh\r\n".encode())
    context.write_bytes(b'{"a":1}')
    whole.write_bytes(b'{"ackToken":"a"}')

    line = ["run", "continue", "--notes-file", str(notes), "--context", f"@{context}", "--input", f"@{whole}"]
    found = params(process, *line)

    assert found == {"ackToken": "a", "context": {"a": 1}, "output": {"notesMarkdown": "früh\r\n"}}


def test_documents_keep_the_names_they_were_given_by(process: Process, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"1")
    second.write_bytes(b"2")

    found = params(process, "lafs", "check", str(first), str(second))

    assert found == {"documents": [{"source": str(first), "text": "1"}, {"source": str(second), "text": "2"}]}


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("absent", None, "E_NOT_FOUND"),
        ("absent/deeper", None, "E_NOT_FOUND"),
        ("", None, "E_VALIDATION"),
        ("x" * 300, None, "E_VALIDATION"),
        ("latin", b"\xe9", "E_VALIDATION"),
        ("huge", b" " * (1024 * 1024 + 1), "REQUEST_TOO_LARGE"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    process: Process, tmp_path: Path, name: str, content: bytes | None, code: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)

    fault = check_refused(code, process, "run", "continue", "--notes-file", str(path))

    assert "Errno" not in fault.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_read_access_is_forbidden(process: Process, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"x")
    path.chmod(0)

    check_refused("E_FORBIDDEN", process, "run", "continue", "--notes-file", str(path))


@pytest.mark.parametrize(
    ("content", "code"), [(b"[1]", "E_VALIDATION"), (b"{", "E_VALIDATION"), (b"", "E_VALIDATION")]
)
def test_an_input_file_must_hold_one_object(
    process: Process, tmp_path: Path, content: bytes, code: str
) -> None:
    path = tmp_path / "input.json"
    path.write_bytes(content)

    check_refused(code, process, "run", "continue", "--input", f"@{path}")


def test_stdin_is_read_when_it_is_named(process: Process, stdin: int) -> None:
    os.write(stdin, b'{"ackToken":"a"}')
    os.close(stdin)

    assert params(process, "run", "continue", "--input", "-") == {"ackToken": "a"}


@pytest.mark.promise("cli.never-waits")
def test_stdin_is_left_alone_when_it_is_not_named(process: Process, stdin: int) -> None:
    os.write(stdin, b"not for us")
    os.close(stdin)

    assert params(process, "run", "continue", "--ack", "a") == {"ackToken": "a"}
    assert os.read(0, 100) == b"not for us"


@pytest.mark.parametrize(
    "line",
    [
        ["run", "continue", "--input", "-", "--notes-file", "-"],
        ["lafs", "check", "-", "-"],
    ],
)
def test_stdin_can_be_named_once(process: Process, line: list[str]) -> None:
    check_refused("E_USAGE", process, *line)
