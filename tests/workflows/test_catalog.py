"""The catalog of all sources: who may use which name, what a broken file looks like, and the order."""

from __future__ import annotations

import json

import pytest

from handrail.contract.vocabulary import SourceKind
from handrail.ports import WorkflowFile
from handrail.workflows.catalog import CatalogEntry, build_catalog, suggested_id


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


def seen(entries: tuple[CatalogEntry, ...]) -> list[tuple[str, str, list[str]]]:
    """Id, source and problem codes of each entry, in order."""
    return [(entry.id, entry.source_kind, [problem.code for problem in entry.problems]) for entry in entries]


def test_every_source_of_files_is_listed() -> None:
    entries = build_catalog([file("wr.review", "bundled"), file("user.mine", "user"), file("project.ours")])

    assert seen(entries) == [
        ("project.ours", "project", []),
        ("user.mine", "user", []),
        ("wr.review", "bundled", []),
    ]
    assert all(entry.workflow is not None for entry in entries)


@pytest.mark.parametrize("source_kind", ["user", "project"])
def test_the_bundled_namespace_is_refused_to_everyone_else(source_kind: SourceKind) -> None:
    entries = build_catalog([file("wr.review", source_kind)])

    assert seen(entries) == [("wr.review", source_kind, ["reserved_id"])]
    assert entries[0].workflow is None
    assert entries[0].problems[0].pointer == "/id"


def test_a_namespace_that_only_begins_like_the_reserved_one_is_free() -> None:
    assert seen(build_catalog([file("wrong.review")])) == [("wrong.review", "project", [])]


def test_nothing_shadows_an_id_that_was_taken_earlier() -> None:
    files = [file("team.deploy", "user", "first.json"), file("team.deploy", "project", "second.json")]

    entries = build_catalog(files)

    assert seen(entries) == [("team.deploy", "project", ["shadowed_id"]), ("team.deploy", "user", [])]
    assert entries[0].problems[0].message == "team.deploy is already defined by user first.json."


def test_two_files_of_one_source_with_one_id_keep_the_first() -> None:
    entries = build_catalog([file("team.deploy", name="a.json"), file("team.deploy", name="b.json")])

    usable = [entry.source_ref for entry in entries if entry.workflow is not None]
    assert usable == ["a.json"]


def test_an_id_that_could_not_be_used_does_not_block_it_for_others() -> None:
    files = [file("wr.review", "user", "impostor.json"), file("wr.review", "bundled", "real.json")]

    entries = build_catalog(files)

    usable = [entry.source_ref for entry in entries if entry.workflow is not None]
    assert usable == ["real.json"]


def test_a_broken_file_is_listed_under_its_name_and_hides_no_other() -> None:
    entries = build_catalog([broken("half/done.json"), file("project.fine")])

    assert seen(entries) == [("done.json", "project", ["unreadable"]), ("project.fine", "project", [])]
    assert entries[0].workflow is None


def test_all_problems_of_a_broken_file_are_kept() -> None:
    entries = build_catalog([broken("poor.json", b'{"id": "project.poor", "steps": []}')])

    assert [problem.code for problem in entries[0].problems] == ["missing_key", "missing_key", "no_steps"]


def test_the_order_is_namespace_then_workflows_before_routines_then_name() -> None:
    files = [
        file("zeta.a"),
        file("alpha.z"),
        file("alpha.b", kind="routine"),
        file("alpha.m"),
        file("legacy-one"),
    ]

    ids = [entry.id for entry in build_catalog(files)]

    assert ids == ["legacy-one", "alpha.m", "alpha.z", "alpha.b", "zeta.a"]
    assert ids == [entry.id for entry in build_catalog(reversed(files))]


@pytest.mark.parametrize(
    ("workflow_id", "source_kind", "expected"),
    [
        ("bug-hunt", "user", "user.bug_hunt"),
        ("bug-hunt", "project", "project.bug_hunt"),
        ("bug_hunt", "git", "repo.bug_hunt"),
        ("hunt", "plugin", "repo.hunt"),
    ],
)
def test_a_legacy_id_gets_a_namespaced_suggestion(
    workflow_id: str, source_kind: SourceKind, expected: str
) -> None:
    assert suggested_id(workflow_id, source_kind) == expected
