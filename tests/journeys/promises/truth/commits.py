"""What the rules promise of writes, disclosure and declarations of commands (truth, section 4)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

_AFTER = "truth, R22; hardening, H13"

PROMISES: tuple[Promise, ...] = (
    Promise(
        "commit.every-write-is-tried",
        source=_AFTER,
        says="Every operation of the registry that writes is tried with trouble after its commit.",
    ),
    Promise(
        "commit.never-a-failure",
        source=_AFTER,
        says="Nothing that breaks after a commit makes a failure of it, at any door.",
    ),
    Promise(
        "commit.reply-lost-is-told",
        source=_AFTER,
        says="Where the reply cannot be built, the answer says that it is committed and how to read it.",
    ),
    Promise(
        "commit.refused-before",
        source="truth, R22",
        says="What can be refused is refused before the store is touched; nothing is used up by it.",
    ),
    Promise(
        "commit.budget-warns",
        source="truth, R22",
        says="A budget never refuses a write: its reply shrinks to the minimal level with a notice.",
    ),
    Promise(
        "disclosure.every-flag",
        source="truth, R24",
        says="Every operation works under every disclosure flag that it offers, by execution.",
    ),
    Promise(
        "disclosure.text",
        source="truth, R24",
        says="Text is a format like the others: every command answers in it under every disclosure flag.",
    ),
    Promise(
        "disclosure.budgets",
        source="truth, R24",
        says="A budget reduces an answer and holds, or is refused with the least value that works.",
    ),
    Promise(
        "disclosure.custom",
        source="truth, R24; LAFS 9.1, 9.2",
        says="`custom` is what an answer with picked fields says; nobody can ask for it.",
    ),
    Promise(
        "disclosure.flags-first",
        source="truth, R24; LAFS 5.2",
        says="A flag beats a variable and a setting, and nothing speaks of flags that nobody gave.",
    ),
    Promise(
        "concurrency.deletes",
        source="truth, R27",
        says="Deletes, sweeps and listings of different sessions do not disturb each other.",
    ),
    Promise(
        "concurrency.ends-in-time",
        source="truth, R27",
        says="A deadline or a signal ends a call within a second, also while it waits for a lock.",
    ),
    Promise(
        "gate.lock-before-claim",
        source="truth, R28",
        says="A lock that stays busy leaves the confirm token usable.",
    ),
    Promise(
        "gate.what-was-checked",
        source="trust, rule 22",
        says="What changed between the check of a token and its write is refused, and nothing is done.",
    ),
    Promise(
        "errors.next-call-leads-on",
        source="trust, section 7",
        says="The call that a refusal names, made word by word, leads on and destroys nothing.",
    ),
    Promise(
        "store.newer",
        source="trust, rule 24",
        says="A session that a newer version wrote is told as such by every reader, and never as damaged.",
    ),
    Promise(
        "cli.stream-follow",
        source="trust, rule 24",
        says="A followed stream has no deadline unless one is given, and ends with the call that goes on.",
    ),
    Promise(
        "door.repeated-key",
        source="trust, rule 23",
        says="JSON with a key twice in one object is refused on every door.",
    ),
    Promise(
        "gate.workspace",
        source="truth, R28",
        says="A confirm token belongs to a project where its operation does, and nowhere else.",
    ),
    Promise(
        "commit.signals",
        source="truth, R22",
        says="A signal, a second one, or the deadline after a commit leaves the answer a success.",
    ),
    Promise(
        "commit.undelivered",
        source="truth, R22",
        says="A change whose answer stdout refuses is told on stderr, with the command that reads it.",
    ),
    Promise(
        "declared.paging",
        source="truth, R25; LAFS 9.4",
        says="A list goes on in the way that `reference` declares, and in no other.",
    ),
    Promise(
        "declared.doctor",
        source="truth, R25; CLI 11",
        says="`doctor` and `context` exit with 0 wherever they run; only wrong arguments are refused.",
    ),
)
