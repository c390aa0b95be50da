"""What CLI promises of self-update."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "cli.update-one-call",
        "CLI, 14",
        "`update` replaces the program and syncs the whole skill in one call, and tells the versions.",
    ),
    Promise("cli.update-no-gate", "CLI, 14", "`update` is one command that takes no confirm token."),
    Promise(
        "cli.update-look",
        "CLI, 14",
        "`--check` and `--dry-run` tell versions, method and command, and change nothing.",
    ),
    Promise(
        "cli.update-manager",
        "CLI, 14",
        "The manager is found by what it left, and driven; its failure changes nothing and names the line.",
    ),
    Promise(
        "cli.update-truth", "CLI, 14", "The version told is that of a new process, whatever the manager says."
    ),
    Promise(
        "cli.update-partial",
        "CLI, 14",
        "A new program with an old skill is a failure that says how to finish; the next update does.",
    ),
    Promise(
        "cli.update-stages",
        "CLI, 14",
        "Every failure tells stage, version, what was replaced and the skill; an index may be asked again.",
    ),
    Promise(
        "cli.update-integrity", "CLI, 14", "A release with another checksum is refused and never retried."
    ),
    Promise(
        "cli.update-signature",
        "CLI, 14",
        "A signature is said to be verified only when it was; one that does not hold changes nothing.",
    ),
    Promise(
        "cli.update-signal",
        "CLI, 14",
        "A signal ends an update with an envelope that tells what is installed.",
    ),
    Promise(
        "cli.update-notice",
        "CLI, 14",
        "A check is remembered with versions, method and command, and told from the cache.",
    ),
    Promise(
        "cli.update-severity",
        "CLI, 14",
        "A notice is a warning for a major step or a security entry of the release, else an information.",
    ),
    Promise(
        "cli.update-doctor",
        "CLI, 14",
        "`doctor` looks once a day, within two seconds, and an index in trouble is no failed check.",
    ),
    Promise(
        "cli.notice-rides",
        "CLI, 14",
        "A kept notice stands in `meta.notices`: a warning everywhere, an information where work begins.",
    ),
    Promise("cli.no-call-home", "CLI, 14", "No command but `update` and `doctor` asks an index."),
)
