"""What CLI promises of self-description, coverage and versions."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "cli.reference",
        "CLI, 11",
        "`reference` describes every command, flag, type, code and exit status, in its declared type.",
    ),
    Promise(
        "cli.schemas",
        "CLI, 11",
        "Every answer keeps the type that its command declares, and every type lists its fields.",
    ),
    Promise(
        "cli.untrusted",
        "CLI, 11",
        "Text from outside is named beside itself, and `reference` says where it can stand.",
    ),
    Promise(
        "cli.examples",
        "CLI, 11",
        "Every example runs; a write shows the preview and the call with its token.",
    ),
    Promise(
        "cli.readiness",
        "CLI, 11",
        "The release level is computed from recorded evidence; without it, it is unpublishable.",
    ),
    Promise(
        "cli.readiness-told",
        "CLI, 11",
        "`reference` and `doctor` tell the same level, and `doctor` grades it with a fix.",
    ),
    Promise(
        "cli.context",
        "CLI, 11",
        "`context` says where a call would act, as whom and with which settings, and makes nothing.",
    ),
    Promise(
        "cli.doctor",
        "CLI, 11",
        "`doctor` gives each check a status, and a fix wherever it is not a pass; it always answers.",
    ),
    Promise("cli.always-answers", "CLI, 11", "Self-description answers whatever else is broken."),
    Promise(
        "cli.changelog",
        "CLI, 11",
        "`changelog` is read from the packed CHANGELOG.md, by release and kind of change.",
    ),
    Promise("cli.changelog-since", "CLI, 11", "`--since` is strictly newer, by number."),
    Promise("cli.names", "CLI, 12", "A command is one or two words, and a group is never a command."),
    Promise("cli.params", "CLI, 12", "A boolean is a switch, and a closed set lists its values."),
    Promise(
        "cli.help-as-data", "CLI, 12", "Help as a document is the reference, so nobody has to read help."
    ),
    Promise(
        "cli.covered",
        "CLI, 13",
        "Every leaf of the live reference is called by tests, in success, refusal and each of its codes.",
    ),
    Promise("cli.pages-run", "CLI, 13", "Every line of the skill and every shown command runs."),
    Promise(
        "cli.deprecated",
        "CLI, 14",
        "What is to go is announced with a notice at each use and a day, and is gone after it.",
    ),
    Promise("cli.aliases", "CLI, 14", "Our pages and the skill never recommend a compatibility spelling."),
    Promise("cli.version", "CLI, 14", "Command, context, skill and changelog tell one version."),
    Promise(
        "cli.skill-minimum",
        "CLI, 14",
        "The skill names the version that it needs, and `doctor` fails with the upgrade when it is not met.",
    ),
)
