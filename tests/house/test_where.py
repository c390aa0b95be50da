"""Who performs an operation in a team: the server decides, the team client looks."""

from __future__ import annotations

from fnmatch import fnmatchcase

from handrail.surfaces.cli.call import OWN_OPERATION_NAMES, operation_of
from handrail.wiring import registry

CLIENT = (
    *("check.*", "code.*", "clients.setup", "program.update", "self.*", "lafs.check"),
    *("workflow.validate", "workflow.simulate", "workflow.fmt", "workflow.convert", "workflow.graph"),
    *("workflow.new", "workflow.save", "workflow.diff", "workflow.builtins", "workflow.schema"),
    *("receipt.*", "store.selftest", "store.copy", "store.adopt", "store.move", "settings.set"),
    *("team.init", "team.new_workspace", "team.login", "team.logout", "team.link", "team.unlink"),
)
"""Files, settings, programs, clients and keys of the machine, files that a caller names, and what only who
has the database does."""
BOTH = ("workflow.list", "workflow.inspect", "run.start")
"""The team client sends what the project declares, the server compiles it."""


def expected(name: str) -> str:
    if name in BOTH:
        return "both"
    return "client" if any(fnmatchcase(name, pattern) for pattern in CLIENT) else "server"


def test_every_operation_says_who_performs_it_in_a_team() -> None:
    names = (*registry().names, *OWN_OPERATION_NAMES)
    declared = {name: operation_of(registry(), name).where for name in names}

    assert declared == {name: expected(name) for name in names}


def test_what_starts_programs_is_never_the_servers() -> None:
    """The server of a team starts no program, whoever asks."""
    starting = [
        one.name
        for one in registry().operations()
        if one.starts_programs or one.effect in ("process", "update")
    ]

    assert starting
    assert all(operation_of(registry(), name).where == "client" for name in starting), starting
