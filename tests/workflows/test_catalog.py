"""The catalog of all sources: who may use which name, what a broken file looks like, and the order."""

from __future__ import annotations

import json

import msgspec
import pytest

from handrail.contract.ids import SourceKind
from handrail.contract.workflow_files import WorkflowFile
from handrail.workflows.catalog import (
    CatalogEntry,
    Summary,
    build_catalog,
    encode_summary,
    suggest_id,
    summarise,
)


def file(
    workflow_id: str, source_kind: SourceKind = "project", name: str = "", kind: str = "workflow"
) -> WorkflowFile:
    document = {
        "id": workflow_id,
        "kind": kind,
        "name": "A name",
        "description": "What it is for.",
        "steps": [{"id": "only", "title": "Only", "prompt": "Do it."}],
    }
    ref = name or f"{workflow_id}.json"
    return WorkflowFile(source_kind=source_kind, source_ref=ref, content=json.dumps(document).encode())


def broken(name: str, content: bytes = b"{") -> WorkflowFile:
    return WorkflowFile(source_kind="project", source_ref=name, content=content)


def entries_of(*files: WorkflowFile) -> tuple[CatalogEntry, ...]:
    return build_catalog(files).entries


def seen(entries: tuple[CatalogEntry, ...]) -> list[tuple[str, str, list[str]]]:
    """Id, source and problem codes of each entry, in order."""
    return [(entry.id, entry.source_kind, [problem.code for problem in entry.problems]) for entry in entries]


def test_namespace_that_resembles_the_reserved_one_is_free() -> None:
    assert seen(entries_of(file("wrong.review"))) == [("wrong.review", "project", [])]


def test_nothing_shadows_an_id_that_was_taken_earlier() -> None:
    files = [file("team.deploy", "user", "first.json"), file("team.deploy", "project", "second.json")]

    entries = entries_of(*files)

    assert seen(entries) == [("team.deploy", "project", ["shadowed_id"]), ("team.deploy", "user", [])]
    assert entries[0].problems[0].message == "team.deploy is already defined by user first.json."


def test_two_files_with_one_id_are_an_error_at_both() -> None:
    entries = entries_of(file("team.deploy", name="a.json"), file("team.deploy", name="b.json"))

    assert [(entry.source_ref, entry.is_usable) for entry in entries] == [
        ("a.json", False),
        ("b.json", False),
    ]
    assert [entry.problems[-1].message for entry in entries] == [
        "team.deploy is the id of b.json too, so neither of them can be used.",
        "team.deploy is the id of a.json too, so neither of them can be used.",
    ]


def test_two_repositories_with_one_id_are_two_sources() -> None:
    entries = entries_of(
        file("team.deploy", "git", "one@1/a.json"), file("team.deploy", "git", "two@2/a.json")
    )

    assert [entry.source_ref for entry in entries if entry.is_usable] == ["one@1/a.json"]


def test_unusable_id_does_not_block_it_for_others() -> None:
    files = [file("wr.review", "user", "impostor.json"), file("wr.review", "bundled", "real.json")]

    entries = entries_of(*files)

    usable = [entry.source_ref for entry in entries if entry.is_usable]
    assert usable == ["real.json"]


def test_order_is_namespace_kind_name() -> None:
    """The order is namespace, then workflows before routines, then name."""
    files = [
        file("zeta.a"),
        file("alpha.z"),
        file("alpha.b", kind="routine"),
        file("alpha.m"),
        file("legacy-one"),
    ]

    ids = [entry.id for entry in entries_of(*files)]

    assert ids == ["legacy-one", "alpha.m", "alpha.z", "alpha.b", "zeta.a"]
    assert ids == [entry.id for entry in entries_of(*reversed(files))]


@pytest.mark.parametrize(
    ("workflow_id", "source_kind", "expected"),
    [
        ("bug-hunt", "user", "user.bug-hunt"),
        ("bug-hunt", "project", "project.bug-hunt"),
        ("bug_hunt", "git", "repo.bug_hunt"),
        ("hunt", "plugin", "repo.hunt"),
    ],
)
def test_a_legacy_id_gets_a_namespaced_suggestion(
    workflow_id: str, source_kind: SourceKind, expected: str
) -> None:
    assert suggest_id(workflow_id, source_kind) == expected


def test_taken_suggestion_gets_a_suffix_from_the_source() -> None:
    first = suggest_id("hunt", "user", "a.json", {"user.hunt"})
    second = suggest_id("hunt", "user", "b.json", {"user.hunt"})

    assert first.startswith("user.hunt_")
    assert len(first) == len("user.hunt_") + 6
    assert first != second
    assert first == suggest_id("hunt", "user", "a.json", {"user.hunt"})


def test_legacy_entries_carry_their_suggestion_and_others_none() -> None:
    entries = entries_of(file("bug-hunt"), file("project.bug-hunt", name="z.json"), file("old", "user"))

    suggestions = {entry.id: entry.suggested_id for entry in entries}
    assert suggestions["old"] == "user.old"
    assert suggestions["bug-hunt"].startswith("project.bug-hunt_")
    assert suggestions["project.bug-hunt"] == ""


def test_a_remembered_summary_is_used_instead_of_reading() -> None:
    known = encode_summary(Summary(id="team.known", name="Known", description="Remembered."))
    given = WorkflowFile(source_kind="user", source_ref="x.json", content=b"not read", summary=known)

    (entry,) = entries_of(given)

    assert (entry.id, entry.name, entry.is_usable) == ("team.known", "Known", True)


def test_a_damaged_summary_is_ignored_and_the_file_is_read() -> None:
    whole = file("team.deploy")
    given = msgspec.structs.replace(whole, summary=b'{"id": 3}')

    assert seen(entries_of(given)) == seen(entries_of(whole))


def test_a_summary_says_the_same_as_the_file_it_was_made_from() -> None:
    for whole in (file("team.deploy"), file("old-one", kind="routine"), broken("half.json")):
        remembered = msgspec.structs.replace(whole, summary=encode_summary(summarise(whole.content)))

        assert build_catalog([remembered]) == build_catalog([whole])


def test_a_source_in_trouble_is_listed_with_what_to_do() -> None:
    given = WorkflowFile(
        source_kind="git",
        source_ref="repo@abc",
        content=b"",
        trouble="It is not fetched.",
        remedy="Fetch it.",
    )

    (entry,) = entries_of(given)

    assert not entry.is_usable
    assert [(problem.code, problem.message, problem.fix) for problem in entry.problems] == [
        ("bad_source", "It is not fetched.", "Fetch it.")
    ]


def contract(
    name: str, content: bytes = b'{"schema": {"type": "object"}, "example": {"a": 1}}'
) -> WorkflowFile:
    return WorkflowFile(source_kind="project", source_ref=f"{name}.json", content=content, holds="contract")


def test_contracts_are_kept_beside_the_workflows() -> None:
    catalog = build_catalog(
        [file("team.deploy"), contract("team.contracts.change"), contract("broken", b"{")]
    )

    assert [entry.id for entry in catalog.entries] == ["team.deploy"]
    assert list(catalog.contracts) == ["team.contracts.change"]
    [broken] = catalog.broken_contracts
    told = [problem.code for problem in broken.problems]
    assert (broken.source_ref, told) == ("broken.json", ["unreadable"])


def test_false_or_second_contract_is_broken() -> None:
    """A contract that cannot be one or that another file defines is broken."""
    wrong = contract(
        "team.contracts.change", b'{"schema": {"type": "object", "required": "rows"}, "example": {"a": 1}}'
    )
    first, second = contract("team.contracts.table"), contract("team.contracts.table")

    catalog = build_catalog([wrong, first, second])

    assert list(catalog.contracts) == ["team.contracts.table"]
    assert [(one.id, [problem.code for problem in one.problems]) for one in catalog.broken_contracts] == [
        ("team.contracts.change", ["broken_contract"]),
        ("team.contracts.table", ["shadowed_id"]),
    ]


def test_of_two_contracts_with_one_id_the_first_counts() -> None:
    first = contract(
        "team.contracts.change", b'{"schema": {"type": "object"}, "example": {"a": 1}, "guidance": "First."}'
    )
    second = contract(
        "b/team.contracts.change",
        b'{"schema": {"type": "object"}, "example": {"a": 1}, "guidance": "Second."}',
    )

    assert build_catalog([first, second]).contracts["team.contracts.change"].guidance == "First."
