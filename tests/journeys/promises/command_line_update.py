"""What CLI promises of self-update."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CLI, 14
      cli.update-one-call: `update` replaces the program and syncs the whole skill in one call, and tells
          the versions.
      cli.update-no-gate: `update` is one command that takes no confirm token.
      cli.update-look: `--check` and `--dry-run` tell versions, method and command, and change nothing.
      cli.update-manager: The manager is found by what it left, and driven; its failure changes nothing and
          names the line.
      cli.update-truth: The version told is that of a new process, whatever the manager says.
      cli.update-partial: A new program with an old skill is a failure that says how to finish; the next
          update does.
      cli.update-stages: Every failure tells stage, version, what was replaced and the skill; an index may
          be asked again.
      cli.update-integrity: A release with another checksum is refused and never retried.
      cli.update-signature: A signature is said to be verified only when it was; one that does not hold
          changes nothing.
      cli.update-signal: A signal ends an update with an envelope that tells what is installed.
      cli.update-notice: A check is remembered with versions, method and command, and told from the cache.
      cli.update-severity: A notice is a warning for a major step or a security entry of the release, else
          an information.
      cli.update-doctor: `doctor` looks once a day, within two seconds, and an index in trouble is no failed
          check.
      cli.notice-rides: A kept notice stands in `meta.notices`: a warning everywhere, an information where
          work begins.
      cli.no-call-home: No command but `update` and `doctor` asks an index.
    """
)
