"""What the rules promise of code that must not run, secrets and links (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    H1
      programs.nothing-of-the-checkout-runs: No command, hook or server starts or imports anything of the
          working directory or the project.
    H2
      programs.git-config-starts-nothing: No configuration of a repository makes git, as Handrail asks it,
          start a program.
    H8
      programs.addresses-without-login: The login in an address of a source, an index or a proxy is told and
          kept nowhere.
      programs.tokens-in-wrong-fields: A token is no secret by the name of its field alone: in any other one
          it is cut, too.
    H9
      programs.links-stay-inside: A link out of the project or source is one problem with its name; its
          target is not read.
    """
)
