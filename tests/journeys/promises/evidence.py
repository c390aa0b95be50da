"""What the rules promise about evidence: programs that really ran."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

_RECEIPTS = "evidence, section 3"
_MUST = "evidence, section 7"

RECEIPTS: tuple[Promise, ...] = (
    Promise(
        "receipt.travels",
        source="trust, rule 20",
        says="A receipt is one in-toto statement in a DSSE envelope about a commit: what ran on exactly its "
        "files, what differs, and what rests on the agent's word; no server signs one.",
    ),
    Promise(
        "receipt.verified",
        source="trust, rule 20",
        says="Elsewhere and offline, a receipt holds only whole, byte for byte, signed by a key that was "
        "given or pinned, about this commit, and on its files; each reason against it is named.",
    ),
    Promise(
        "receipt.replayed",
        source="trust, rule 20",
        says="A replay takes the commit and the names of checks from a receipt, and runs what this checkout "
        "declares and this user approved, on the files of the commit; nothing of the receipt is started.",
    ),
    Promise(
        "check.approved-by-a-person",
        source="trust, rule 13",
        says="Only a person's yes at a terminal or in the Console approves a check: this declaration, in "
        "this project, on this machine. They are told that code of the project then runs without asking.",
    ),
    Promise(
        "check.approved-runs-itself",
        source="trust, rule 13",
        says="An approved check whose last run was short is run once per tree where a report needs it, as a "
        "commit of its own before the attempt; a long one, and what a server is asked, is asked for by name.",
    ),
    Promise(
        "receipt.where-it-ran",
        source=_RECEIPTS,
        says="A receipt says in which folder of the project its command ran. In another folder it is not the "
        "project's command: the refusal names the folder and the receipt, and one corrected call that names "
        "it passes with a fact that says the folder. A shell that was elsewhere proves nothing.",
    ),
    Promise(
        "evidence.imported",
        source=_MUST,
        says="The evidence of an imported session is told as what another store recorded.",
    ),
    Promise(
        "receipt.recorded-as-it-was",
        source=_RECEIPTS,
        says="A receipt tells the command, how it ended, a digest of its output and the step it was for.",
    ),
    Promise(
        "receipt.failing-is-a-fact",
        source=_RECEIPTS,
        says="A program that fails, is out of time or cannot start is recorded, and the call succeeds.",
    ),
    Promise(
        "receipt.one-run",
        source=_RECEIPTS,
        says="A check is for the run that is named, or the only one in progress here; else nothing starts.",
    ),
    Promise(
        "receipt.node-of-its-start",
        source=_RECEIPTS,
        says="A receipt belongs to the step that was pending when its program began, and moves no tip.",
    ),
    Promise(
        "receipt.own-time",
        source=_RECEIPTS,
        says="A check has its own time, holds no lock while it runs, and leaves no process when it is ended.",
    ),
    Promise(
        "receipt.interrupted",
        source=_RECEIPTS,
        says="A signal to the call ends the program and what it started; that is recorded, never as a pass, "
        "and the call ends with 130.",
    ),
    Promise(
        "receipt.no-shell",
        source=_RECEIPTS,
        says="A program is started word by word, without a shell, an input, or a secret of ours.",
    ),
    Promise(
        "receipt.no-secret",
        source=_MUST,
        says="No secret of the environment or of a known shape gets into log, answer, audit or terminal.",
    ),
    Promise(
        "receipt.long-output",
        source=_RECEIPTS,
        says="What a program prints is passed on as it comes, many lines at once, and shown and kept the "
        "same however it arrives.",
    ),
    Promise(
        "receipt.no-escape",
        source=_MUST,
        says="Nothing that a program prints can steer a terminal, and no line is without bound.",
    ),
    Promise(
        "receipt.inside-the-project",
        source=_MUST,
        says="A check starts inside the project; what leads out of it is refused or not read.",
    ),
    Promise(
        "receipt.nothing-ran",
        source=_RECEIPTS,
        says="A runner that ran nothing has not passed, whatever its exit status is.",
    ),
    Promise(
        "receipt.report-of-this-run",
        source=_RECEIPTS,
        says="Counts come from a report that this very run of the program wrote, read without entities.",
    ),
    Promise(
        "receipt.never-remote",
        source="evidence, section 6",
        says="No server offers an operation that starts programs.",
    ),
    Promise(
        "receipt.client-hook",
        source=_RECEIPTS,
        says="A client's hook after a shell command records it once, at the one run in progress here.",
    ),
    Promise(
        "receipt.hook-status-unknown",
        source=_RECEIPTS,
        says="A status that a client does not tell in so many words is recorded as unknown.",
    ),
    Promise(
        "receipt.hook-never-fails",
        source=_RECEIPTS,
        says="A hook after a shell command exits 0 and prints nothing to stdout, whatever its message is.",
    ),
    Promise(
        "check.declared",
        source=_RECEIPTS,
        says="A project declares checks in its settings; what is wrong with them is named.",
    ),
    Promise(
        "check.suggested",
        source=_RECEIPTS,
        says="Setup suggests a first set of checks in a preview; nothing is run, nor changed where declared.",
    ),
    Promise(
        "check.pinned",
        source=_RECEIPTS,
        says="A start pins the declared checks: what runs and counts under a name is what it was then, and a "
        "change of the declaration since is told.",
    ),
    Promise(
        "check.declared-counts",
        source=_RECEIPTS,
        says="Where a project declares checks, a list of changes and a verification that passes need one of "
        "them on the present files; another command is shown, and does not stand for it.",
    ),
    Promise(
        "receipt.files-changed-meanwhile",
        source=_RECEIPTS,
        says="A check proves nothing if files changed while it ran, but for the report that it declares.",
    ),
    Promise(
        "evidence.last-look",
        source="evidence, section 1",
        says="A look at the end that fails makes what was seen before unknown, with the reason and a gap; a "
        "later one that sees the files settles it.",
    ),
    Promise(
        "evidence.left-by-branch",
        source="evidence, section 2",
        says="A changed file that another branch of the run left is shown by name where a list lacks it, and "
        "counts as unverified; what changed before the branches parted is demanded of both.",
    ),
    Promise(
        "evidence.other-repository",
        source="evidence, section 4",
        says="A run that holds names the folders of other repositories in which nobody looked.",
    ),
    Promise(
        "receipt.imported",
        source=_RECEIPTS,
        says="A receipt or a person's yes that came with a bundle proves nothing in a report made since.",
    ),
    Promise(
        "receipt.rewritten-files",
        source=_RECEIPTS,
        says="Checks that rewrite each other's files are refused once; then the cause is told, and what "
        "cannot be proven passes as unknown with a gap.",
    ),
    Promise(
        "evidence.own-project",
        source="evidence, section 2",
        says="A run is held to the files of the project that it was begun in, wherever a call comes from and "
        "whichever directory it names; where they are gone, everything is unknown and says so.",
    ),
    Promise(
        "check.first-use",
        source=_RECEIPTS,
        says="The first run of a project's check on a machine warns with the command.",
    ),
)

PROMISES: tuple[Promise, ...] = (*RECEIPTS,)
