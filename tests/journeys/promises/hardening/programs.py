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
)
