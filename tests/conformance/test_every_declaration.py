"""Everything that `reference` declares, executed: every leaf, flag, format, schema and code, by process."""

from __future__ import annotations

import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.contract.conformance.check import check
from handrail.contract.disclosure.fields import MARKS, PAGING_KEYS
from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.rendering.text import width_of
from handrail.surfaces.cli.self_description.help_table import read_help
from tests.conformance.calls import NO_WAY, Called, a_call, code_of, way_to
from tests.conformance.damage import none
from tests.conformance.leaf_forms import Way, words
from tests.conformance.leaves import LEAVES, NO_DOCUMENT
from tests.conformance.seeded import Seeded, spelt, state_of
from tests.surfaces.cli.tool import Tool, checked_document, strict_json
from tools.readiness import NEEDS_A_PERSON, flags_of

pytestmark = pytest.mark.thorough

SIDE_BY_SIDE = 8
SHOWN_ELSEWHERE = {("session events", "--follow")}
"""It goes on until it is ended: tests of its own call it."""
WRITES = sorted(path for path, row in COMMANDS.items() if row["effect"] in ("gated", "dangerous"))


every_leaf = pytest.mark.parametrize("called", LEAVES, indirect=True)
every_gated_leaf = pytest.mark.parametrize("called", WRITES, indirect=True)


@pytest.mark.promise("cli.covered")
def test_every_leaf_of_the_live_reference_is_in_the_table(reference: Any) -> None:
    live = {command["path"] for command in reference["commands"]}

    assert live == {*LEAVES, *NO_DOCUMENT, *NEEDS_A_PERSON}


@pytest.mark.promise("cli.covered")
def test_every_flag_of_a_command_stands_in_a_line_that_succeeds(reference: Any) -> None:
    """Without a run of any: a new flag without a line is told at once."""
    commands = [one for one in reference["commands"] if one["path"] in LEAVES]
    by_operation: dict[str, set[str]] = {}
    for one in commands:
        leaf = LEAVES[one["path"]]
        lines = (words(one["path"]), leaf.line, leaf.key, *leaf.further, *leaf.once)
        taken = {word for line in lines for word in line}
        by_operation.setdefault(one.get("operation") or one["path"], set()).update(taken)

    missing = {
        (one["path"], flag)
        for one in commands
        for flag in (param["flag"] for param in one["params"] if param["flag"])
        if flag in flags_of(one) and flag not in by_operation[one.get("operation") or one["path"]]
    }

    assert missing == SHOWN_ELSEWHERE


@pytest.mark.promise("cli.exits")
@every_leaf
def test_each_code_that_it_declares_comes_out(
    called: Called, reference: Any, seeded: Seeded, tmp_path: Path
) -> None:
    """What leaves the home as it is is asked of one home; what takes more gets a home of its own."""
    codes = called.declared["errors"]
    here = [code for code in codes if leaves_the_home(way_to(called, code))]
    otherwise = [code for code in codes if code not in here]

    def provoked(code: str) -> str:
        place = tmp_path / code
        place.mkdir()
        own = a_call(called.path, reference, seeded, place)
        return code_of(own.refused(way_to(own, code)))

    heard = {code: code_of(called.refused(way_to(called, code))) for code in here}
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        heard |= dict(zip(otherwise, pool.map(provoked, otherwise), strict=True))

    assert {code: told for code, told in heard.items() if told != code} == {}
    assert set(heard) == set(codes)


def leaves_the_home(way: Way) -> bool:
    """It is refused without any damage; a line of its own may need tokens that calls before it make."""
    return way.damage is none and not way.line and way != NO_WAY


ABOUT_THE_PAYLOAD = {*MARKS, *PAGING_KEYS}


def validator(called: Called, label: str) -> Draft202012Validator:
    schema = called.tool.data("reference", "--schema", label)["schemas"][label]["json_schema"]
    return Draft202012Validator(schema)


@pytest.mark.promise("cli.schemas")
@every_leaf
def test_its_lines_succeed_and_keep_the_declared_schema(called: Called, reference: Any) -> None:
    declared = called.declared
    lines = [called.safe(), *(called.spelt(line) for line in (*called.leaf.further, *called.leaf.once))]
    validators = {
        label: validator(called, label)
        for label in {declared["output_schema"], declared["dry_run_output_schema"]} - {None}
    }

    for line in lines:
        document = checked_document(called.tool.run(*line, plant=called.leaf.plant))
        assert document["ok"], (line, document)
        is_preview = "--dry-run" in line
        label = declared["dry_run_output_schema"] if is_preview else declared["output_schema"]
        errors = [error.message for error in validators[label].iter_errors(document["data"])]
        assert errors == [], line
        known = {name.split(".")[0] for name in reference["schemas"][label]["fields"]} | ABOUT_THE_PAYLOAD
        assert set(document["data"]) <= known, line


@every_leaf
def test_the_lafs_dialect_has_the_same_payload_and_conforms(called: Called) -> None:
    ran = called.tool.run(*called.safe(), "--envelope", "lafs", plant=called.leaf.plant)

    document = strict_json(ran.out)
    report = check(document, kind="lafs", tier="complete")
    assert report.ok, (report.failed, report.schema_errors)
    assert (ran.status, ran.err, document["success"]) == (0, b"", True)


AS_WRITTEN = frozenset({"run start", "run continue", "run checkpoint", "workflow graph", "code diff"})
"""Their text is an author's prompt, or a drawing in the language of another program."""


def assert_for_people(path: str, text: str) -> None:
    """No JSON, no names of fields, no JSON commands; within the page but for what is copied."""
    assert text.strip()
    lines = [line for line in text.splitlines() if not re.match(' +[-+@]|.*"handrail"', line)]
    if path not in AS_WRITTEN:
        leaked = r'\{"|\["|details\.\w|--compact|\bTrue\b|[0-9]T[0-9:.]{5,12}Z'
        assert [line for line in lines if re.search(leaked, line)] == []
        copied = [line for line in lines if re.search("handrail |/|--confirm ct_", line)]
        assert [line for line in lines if width_of(line) > 100 and line not in copied] == []


@pytest.mark.promise("cli.text")
@every_leaf
def test_text_is_for_people_and_help_is_there(called: Called) -> None:
    text = called.tool.run(*called.safe(), "--human", plant=called.leaf.plant)
    is_view = "--" in called.path
    asked = called.bare() if is_view else called.path.split()
    trouble = called.tool.run(*asked, "--bogus", "--format", "text")
    help_text = called.tool.run(*called.path.split(" --")[0].split(), "--help")

    assert (text.status, text.err) == (0, b"")
    assert_for_people(called.path, text.out.decode("utf-8"))
    assert_for_people(called.path, trouble.err.decode("utf-8"))
    assert (trouble.status, trouble.out) == (2, b"")
    assert b"--bogus" in trouble.err
    usages = help_text.out.decode().split("\n\n")[0].removeprefix("Usage: ").splitlines()
    assert called.declared["usage"] in [line.strip() for line in (usages if is_view else usages[:1])]
    assert (help_text.status, help_text.err) == (0, b"")
    flags = [param["flag"] for param in called.declared["params"] if param["flag"]]
    assert [flag for flag in flags if flag.encode() not in help_text.out] == []


def global_lines(called: Called) -> list[list[str]]:
    """Calls that succeed and together use every global flag that the leaf offers."""
    safe = called.safe()
    offered = called.declared["global_flags"]
    field = ["preview" if called.is_gated else "KEY"]
    together = {
        "--format": ["--format", "json"],
        "--json": ["--json"],
        "--envelope": ["--envelope", "cli"],
        "--mvi": ["--mvi", "standard"],
        "--expand": ["--expand", ",".join(called.declared["expand"])],
        "--budget": ["--budget", "bytes=10000000"],
        "--compact": ["--compact"],
        "--quiet": ["--quiet"],
        "--progress": ["--progress"],
        "--input": ["--input", "{}"],
        "--timeout": ["--timeout", "60"],
        "--project": ["--project", called.tool.environment["HANDRAIL_PROJECT"]],
        "--schema-version": ["--schema-version", "1"],
    }
    alone = {
        "--fields": [*safe, "--fields", *field],
        "--field": [*safe, "--field", *field],
        "--human": [*safe, "--human"],
        "--version": ["--version", *called.path.split()],
        "--help": [*called.path.split(), "--help"],
        "--stream": [*safe, "--stream"],
        "--out": [*safe, "--out", "written.json"],
        "--continue-on-error": [*safe, "--continue-on-error", "true"],
        "--dry-run": [*safe] if "--dry-run" in safe else [*called.bare(), "--dry-run"],
        "--dangerous": safe,
    }
    joined = [word for flag in offered for word in together.get(flag, [])]
    assert set(offered) - set(together) - set(alone) <= {"--confirm"}
    return [[*safe, *joined], *(alone[flag] for flag in offered if flag in alone)]


@pytest.mark.promise("cli.flags-everywhere")
@every_leaf
def test_each_global_flag_that_it_offers_is_taken(called: Called) -> None:
    first = checked_document(called.tool.run(*called.safe(), plant=called.leaf.plant))
    key = next(iter(first["data"]))

    for line in global_lines(called):
        ran = called.tool.run(*(key if word == "KEY" else word for word in line), plant=called.leaf.plant)
        assert (ran.status, ran.err) == (0, b""), (line, ran)
        assert ran.out, line


@pytest.mark.promise("cli.flags-everywhere")
@pytest.mark.promise("cli.update-no-gate")
@every_leaf
def test_a_flag_that_it_does_not_offer_is_refused(called: Called, reference: Any) -> None:
    offered = called.declared["global_flags"]
    taken = {*offered, *(param["flag"] for param in called.declared["params"])}
    others = [flag for flag in reference["global_flags"] if flag["name"] not in taken]

    for flag in others:
        value = [] if flag["values"] is None and flag["name"] in SWITCHES else [(flag["values"] or ["x"])[0]]
        ran = called.tool.run(*called.safe(), flag["name"], *value)
        assert code_of(ran) == "E_USAGE", flag["name"]


SWITCHES = {flag["flag"] for flag in GLOBALS if flag["kind"] == "switch"}


@pytest.mark.promise("cli.write-needs-token")
@pytest.mark.promise("cli.dry-run")
@every_gated_leaf
def test_write_is_refused_shown_confirmed_and_refused_again(called: Called) -> None:
    tool, line = called.tool, [*called.bare(), *called.leaf.dangerous]
    preview = validator(called, called.declared["dry_run_output_schema"])
    before = state_of(tool)

    bare = tool.run(*called.bare())
    shown = tool.data(*line, "--dry-run")
    assert code_of(bare) == "E_CONFIRMATION_REQUIRED"
    assert bare.status == 5
    assert [error.message for error in preview.iter_errors(shown)] == []
    assert state_of(tool) == before

    confirmed = checked_document(tool.run(*line, "--confirm", shown["confirm_token"]))
    assert confirmed["ok"], confirmed
    errors = validator(called, called.declared["output_schema"]).iter_errors(confirmed["data"])
    assert [error.message for error in errors] == []

    after = state_of(tool)
    again = tool.run(*line, "--confirm", shown["confirm_token"])
    assert (again.status, code_of(again)) == (6, "E_CONFLICT")
    assert state_of(tool) == after


@pytest.mark.promise("cli.create-key")
@pytest.mark.parametrize("called", ["run start", "session note"], indirect=True)
def test_creation_needs_its_key_and_a_repeat_is_recorded(called: Called) -> None:
    bare = called.tool.run(*called.bare())
    replies = [called.tool.data(*called.safe()) for _ in range(2)]

    assert (bare.status, code_of(bare)) == (5, "E_CONFIRMATION_REQUIRED")
    assert replies[0] == replies[1]


@pytest.mark.parametrize(
    "called",
    [
        "run start",
        "session note",
        *("team init", "team invite", "team reset", "team token create", "team workspace create"),
    ],
    indirect=True,
)
def test_a_creation_may_be_previewed_and_confirmed_once(called: Called) -> None:
    line = called.safe()
    token = called.token(line)

    confirmed = called.tool.data(*line, "--confirm", token)
    again = called.tool.run(*line, "--confirm", token)

    assert "confirm_token" not in confirmed
    assert (again.status, code_of(again)) == (6, "E_CONFLICT")


@pytest.mark.promise("cli.stream-broken")
@pytest.mark.parametrize("called", ["session events"], indirect=True)
def test_followed_events_end_with_the_time_given(called: Called) -> None:
    ran = called.tool.run(*called.safe(), "--stream", "--follow", "--timeout", "1")

    lines = [strict_json(line + b"\n") for line in ran.out.splitlines()]
    assert (ran.status, lines[-1]["ok"], lines[-1]["type"]) == (8, False, "summary")
    assert lines[-1]["error"]["details"]["count"] == len(lines) - 1
    assert all(set(line) >= {"ok", "schema_version", "type"} for line in lines)


def test_the_protocol_server_ends_with_its_stdin(tool: Tool) -> None:
    ran = tool.run("mcp")
    refused = tool.run("mcp", "--bogus")

    assert (ran.status, ran.out) == (0, b"")
    assert (refused.status, code_of(refused)) == (2, "E_USAGE")


@pytest.mark.parametrize("path", ["console", "demo", "serve"])
def test_what_goes_on_until_it_is_ended_refuses_an_unknown_flag(tool: Tool, path: str) -> None:
    refused = tool.run(path, "--bogus")

    assert (refused.status, code_of(refused)) == (2, "E_USAGE")


@pytest.mark.parametrize("path", sorted(NEEDS_A_PERSON))
def test_what_asks_a_person_has_help_and_refuses_an_unknown_flag(tool: Tool, path: str) -> None:
    shown = tool.run(*path.split(), "--help")
    refused = tool.run(*path.split(), "--bogus")

    assert (shown.status, shown.err) == (0, b"")
    assert f"handrail {path}".encode() in shown.out
    assert (refused.status, code_of(refused)) == (2, "E_USAGE")


@pytest.mark.promise("continue.replay.same-bytes")
@pytest.mark.parametrize("called", ["run continue", "run checkpoint"], indirect=True)
def test_an_acknowledgement_may_be_repeated(called: Called) -> None:
    replies = [called.tool.data(*called.safe())]
    after = state_of(called.tool)
    replies += [called.tool.data(*called.safe()) for _ in range(2)]

    assert replies[0] == replies[1] == replies[2]
    assert state_of(called.tool) == after


EXAMPLES = [
    (path, example)
    for path, entry in read_help().items()
    for example in entry["examples"]
    if path not in ("mcp", "serve", "console", "demo", *NEEDS_A_PERSON) or "--withdraw" in example
]
"""A withdrawal asks nobody."""


@pytest.mark.promise("cli.examples")
@pytest.mark.parametrize(("path", "example"), EXAMPLES)
def test_an_example_runs(seeded: Seeded, tmp_path: Path, path: str, example: str) -> None:
    """Words in capitals stand for what the caller brings along; a confirm token comes from a dry run."""
    tool = seeded.copy(tmp_path, LEAVES[path].project if path in LEAVES else "")
    plant = LEAVES[path].plant if path in LEAVES else ""
    answer = Path(tool.project, "answer.json").read_bytes()
    work = Path(tool.project, "work.handrail.json")
    work.unlink()  # an export replaces nothing
    if path == "session import":  # the work of another home
        work.write_bytes(Path(tool.project, "bundle.json").read_bytes())
    words = spelt([word for word in shlex.split(example) if word != "CONFIRM_TOKEN"], seeded.names)
    words = [seeded.team_store() if word.startswith("postgresql://") else word for word in words]
    if "--confirm" in words:
        place = words.index("--confirm") + 1
        shown = tool.data(*words[1 : place - 1], "--dry-run", *words[place:])
        words.insert(place, shown["confirm_token"])

    ran = tool.run(*words[1:], stdin=answer, plant=plant)

    assert words[0] == "handrail"
    assert " ".join(words[1:]).startswith(path.split(" --")[0])
    assert path == "session show --node" or {*path.split()} <= {*words}  # a second word names a node too
    assert (ran.status, ran.err) == (0, b""), ran.out
