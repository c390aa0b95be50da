"""Edits as values: what would be replaced where, in which state of which file. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from handrail_code.facts.join import Project, Reference
from handrail_code.facts.model import FileFacts
from handrail_code.facts.source import EditedSource, Source
from handrail_code.facts.spelled_names import Placed, Trouble

RefusalCode: TypeAlias = Literal[
    "invalid_name",
    "same_name",
    "collision",
    "shadowed",
    "captured",
    "parse_error",
    "unreadable",
    "member",
    "external",
    "dynamic",
    "not_found",
    "changed_meaning",
    "invalid_path",  # no place for source
    "nested",  # not at the top of its module
    "closed_over",  # needs variables of the function around it
    "not_exported",  # needs names that stay behind
    "assigned",  # an imported name cannot be written
    "side_effects",  # something that runs on load belongs to it
    "place_dependent",  # `import.meta`, `__dirname`: another file is another place
    "module_system",  # CommonJS and ES modules do not mix here
    "default_export",
    "cycle",
    "other_package",  # packages import each other by name
    "twin",  # the module has another form, which would not change along
    "language",  # not proven for this language
    "unknown_place",  # an answer about a place that is proven, or not there any more
    "two_answers",  # one place is to change and to stay
]


Change: TypeAlias = tuple[int, int, str]
"""What a stretch of a text becomes: where it begins and ends, and what stands there instead."""


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    start: int
    end: int
    replacement: str


MisfitCode: TypeAlias = Literal["too_few_arguments", "too_many_arguments", "missing_keyword"]


class Misfit(msgspec.Struct, frozen=True, kw_only=True):
    """A call that no longer fits given text, and what is wrong with it."""

    path: str
    start: int
    end: int
    code: MisfitCode
    why: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    edits: tuple[Edit, ...]
    """By path and place; no two overlap."""
    untouched: tuple[Reference, ...] = ()
    """What may mean the same and is left as it is."""
    reasons: tuple[Trouble, ...] = ()
    unresolved: tuple[str, ...] = ()
    """Names in given text that nothing in the project declares and that the file did not use before."""
    removed: tuple[str, ...] = ()
    """Files that go away; their one edit leaves no text."""
    misfits: tuple[Misfit, ...] = ()
    """Calls that no longer fit the parameters of given text."""


class Refusal(Exception):
    """Why an edit is not made, and where: in a file, or at a place of it."""

    def __init__(
        self,
        code: RefusalCode,
        message: str,
        path: str = "",
        place: Placed | None = None,
        needs: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path
        self.start = 0 if place is None else place.start
        self.end = 0 if place is None else place.end
        self.needs = needs
        """The neighbours that would have to be exported, or to come along."""
        self.places: tuple[str, ...] = ()
        """Every place that waits for an answer, as `FILE:LINE:COLUMN`."""
        self.token = ""
        """It accepts the whole list of places."""


def refuse_troubles(path: str, facts: FileFacts) -> Refusal:
    trouble = facts.troubles[0]
    message = "Handrail cannot read this: a syntax error, or a form that its grammar does not know."
    return Refusal("parse_error", message, path, trouble)


def read_whole(project: Project, path: str) -> tuple[FileFacts, bytes]:
    """Facts and text of a file that parses. Raises Refusal."""
    facts = project.read_facts(path)
    if facts.troubles:
        raise refuse_troubles(path, facts)
    return facts, project.source.text(path) or b""


def edited_project(project: Project, plan: Plan) -> Project:
    """Return the project as it would be. Raises Refusal where a file would not parse."""
    changed = apply_in_memory(plan, project.source)
    edited = Project(EditedSource(project.source, changed))
    for path in changed:
        before, after = project.facts(path), edited.facts(path)
        if before is not None and before.troubles:
            raise refuse_troubles(path, before)
        if after is None or after.troubles:
            raise Refusal("parse_error", "The edited file would not parse.", path)
    return edited


def apply_in_memory(plan: Plan, source: Source) -> dict[str, bytes]:
    """Return the changed files of the source that the plan was made for, by path."""
    changed: dict[str, bytes] = {}
    for path in sorted({edit.path for edit in plan.edits}):
        mine = [(edit.start, edit.end, edit.replacement) for edit in plan.edits if edit.path == path]
        changed[path] = splice(source.text(path) or b"", mine)
    return changed


def splice(text: bytes, changes: Iterable[Change], start: int = 0, end: int | None = None) -> bytes:
    """Return a part of a text with other pieces in it."""
    made: list[bytes] = []
    for begin, stop, replacement in sorted(changes):
        assert start <= begin, "changes of one text do not overlap"
        made += [text[start:begin], replacement.encode()]
        start = stop
    return b"".join([*made, text[start:end]])
