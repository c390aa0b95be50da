"""What CLI promises of self-description, coverage and versions."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CLI, 11
      cli.reference: `reference` describes every command, flag, type, code and exit status, in its declared
          type.
      cli.schemas: Every answer keeps the type that its command declares, and every type lists its fields.
      cli.untrusted: Text from outside is named beside itself, and `reference` says where it can stand.
      cli.examples: Every example runs; a write shows the preview and the call with its token.
      cli.readiness: The release level is computed from recorded evidence; without it, it is unpublishable.
      cli.readiness-told: `reference` and `doctor` tell the same level, and `doctor` grades it with a fix.
      cli.context: `context` says where a call would act, as whom and with which settings, and makes
          nothing.
      cli.doctor: `doctor` gives each check a status, and a fix wherever it is not a pass; it always
          answers.
      cli.always-answers: Self-description answers whatever else is broken.
      cli.changelog: `changelog` is read from the packed CHANGELOG.md, by release and kind of change.
      cli.changelog-since: `--since` is strictly newer, by number.
    CLI, 12
      cli.names: A command is one or two words, and a group is never a command.
      cli.params: A boolean is a switch, and a closed set lists its values.
      cli.help-as-data: Help as a document is the reference, so nobody has to read help.
    CLI, 13
      cli.covered: Every leaf of the live reference is called by tests, in success, refusal and each of its
          codes.
      cli.pages-run: Every line of the skill and every shown command runs.
    CLI, 14
      cli.deprecated: What is to go is announced with a notice at each use and a day, and is gone after it.
      cli.aliases: Our pages and the skill never recommend a compatibility spelling.
      cli.version: Command, context, skill and changelog tell one version.
      cli.skill-minimum: The skill names the version that it needs, and `doctor` fails with the upgrade when
          it is not met.
    """
)
