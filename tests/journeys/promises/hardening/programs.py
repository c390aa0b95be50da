"""What the rules promise of code that must not run, secrets and links (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "programs.nothing-of-the-checkout-runs",
        source="H1",
        says="No command, hook or server starts or imports anything of the working directory or the project.",
    ),
    Promise(
        "programs.git-config-starts-nothing",
        source="H2",
        says="No configuration of a repository makes git, as Handrail asks it, start a program.",
    ),
    Promise(
        "programs.addresses-without-login",
        source="H8",
        says="The login in an address of a source, an index or a proxy is told and kept nowhere.",
    ),
    Promise(
        "programs.tokens-in-wrong-fields",
        source="H8",
        says="A token is no secret by the name of its field alone: in any other one it is cut, too.",
    ),
    Promise(
        "programs.links-stay-inside",
        source="H9",
        says="A link out of the project or source is one problem with its name; its target is not read.",
    ),
)
