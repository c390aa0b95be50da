"""docs/reference/home.md: every file in the Handrail home, who may read it and what its loss means."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.ports.process import AuditLine
from tools.page_parts import page, table

Loss: TypeAlias = Literal["nothing", "record", "yours", "tokens", "history"]

LOSSES: dict[Loss, str] = {
    "nothing": "It is made again when it is needed.",
    "record": "The record is gone; every other answer stays the same.",
    "yours": "You made it, and only you can make it again.",
    "tokens": "Tokens end; history does not.",
    "history": "Work is lost; restore it from a backup.",
}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of file in the home."""

    path: str
    """A word in angle brackets stands for one name, a star for any rest."""
    holds: str
    loss: Loss
    after: str
    """What happens when it is deleted."""


PLACES = (
    Place(
        path="config.json",
        holds="Your [settings](settings.md).",
        loss="yours",
        after="Every setting is at its default.",
    ),
    Place(
        path="config.json.lock",
        holds="Nothing; whoever writes the settings locks it.",
        loss="nothing",
        after="It is made again.",
    ),
    Place(
        path="workflows/<name>.json",
        holds="Your own workflows, in every project.",
        loss="yours",
        after="The workflow is listed no more; runs of it go on, because they are pinned to a copy.",
    ),
    Place(
        path="contracts/<name>.json",
        holds="Your own contracts of artifacts.",
        loss="yours",
        after="Workflows that name the contract do not compile; runs under way hold a copy.",
    ),
    Place(
        path="audit/audit-<month>.jsonl",
        holds="One line per change and refused change, one file a month.",
        loss="record",
        after="The lines of that month are gone.",
    ),
    Place(
        path="incidents/<id>.txt",
        holds="The traceback of a defect, named by the incident id of the answer.",
        loss="record",
        after="Nobody can look up that incident.",
    ),
    Place(
        path="confirm-consumed/<fingerprint>",
        holds="That a confirm token was used, or refused as expired.",
        loss="record",
        after="Within 15 minutes its token could be used a second time, if nothing it showed has changed.",
    ),
    Place(
        path="approved-checks.json",
        holds="Which checks of which project Handrail may run itself, by the digest of their declaration.",
        loss="record",
        after="No check is approved; `check approve` asks again.",
    ),
    Place(
        path="client-backup/<digest>.json",
        holds="What a file of an agent's client held before `setup` changed it.",
        loss="record",
        after="`setup --remove` takes our entry out instead of restoring the file byte for byte.",
    ),
    Place(
        path="run/server.json",
        holds="Where the server that runs answers, its token and its Console's; it goes when that ends.",
        loss="nothing",
        after="`console` finds the server no more; start it again.",
    ),
    Place(
        path="run/server.lock",
        holds="Nothing; the server that runs now holds its lock.",
        loss="nothing",
        after="It is made again. While a server runs, a second one could start.",
    ),
    Place(
        path="run/open.html",
        holds="The page that hands the token to the browser, until that has shown it.",
        loss="nothing",
        after="`console` makes it again.",
    ),
    Place(
        path="run/mcp-<pid>.json",
        holds="What an MCP server that runs now offers; the server holds its lock, and it goes with it.",
        loss="nothing",
        after="`settings show` does not list that server.",
    ),
    Place(
        path="skill.json",
        holds="The digest of the skill that was copied last.",
        loss="record",
        after="`setup --remove` leaves the copied skill, because it cannot tell whether you changed it.",
    ),
    Place(
        path="skill-backup/<digest>/*",
        holds="A skill that you had changed, before a newer one took its place.",
        loss="yours",
        after="Your changes to it are gone.",
    ),
    Place(
        path="store-key/<place>/key",
        holds="The key that proves which answers and check results this store recorded, made once, and the "
        "list of the sessions that were there before it. `<place>` stands for this machine and folder.",
        loss="record",
        after="The next commit makes another key; what is there then is unproven.",
    ),
    Place(
        path="store-key/<place>/adopted",
        holds="That a person adopted what is unproven: `store adopt`.",
        loss="record",
        after="It is unproven again.",
    ),
    Place(
        path="store-key/<place>/lock",
        holds="Nothing; whoever makes the key locks it.",
        loss="nothing",
        after="It is made again.",
    ),
    Place(
        path="data/keys/keyring.json",
        holds="The keys that sign tokens.",
        loss="tokens",
        after="No old token verifies; the next one makes a new file, and `session resume` leads back.",
    ),
    Place(
        path="data/keys/requests.key",
        holds="The secret that names the sessions of request ids; it is never rotated.",
        loss="record",
        after="A repeated request id starts a second run.",
    ),
    Place(
        path="data/keys/receipts.json",
        holds="The key that signs receipts, public halves of those before it, and keys of others to trust.",
        loss="record",
        after="A new key signs, and receipts of the old one are checked only with its public half.",
    ),
    Place(
        path="data/keys/keyring.lock",
        holds="Nothing; whoever rotates the keys locks it.",
        loss="nothing",
        after="It is made again.",
    ),
    Place(
        path="data/sessions/<session>/events-<number>.jsonl",
        holds="The events of a session: the truth.",
        loss="history",
        after="The session can be read up to the commit before, and not continued.",
    ),
    Place(
        path="data/sessions/<session>/manifest.jsonl",
        holds="Which bytes are events, and their digests.",
        loss="history",
        after="The session is not found; `store verify` names it, and nothing is written over the rest.",
    ),
    Place(
        path="data/sessions/<session>/lock",
        holds="The lock of the writer, and how much is known to be durable.",
        loss="nothing",
        after="The next reader syncs again. Do not delete it while something runs.",
    ),
    Place(
        path="data/blobs/<start>/<digest>",
        holds="Compiled workflows, long notes, and files that nodes keep; shared by all sessions.",
        loss="history",
        after="Calls that need it answer `STORE_CORRUPT`, until the same content is stored again.",
    ),
    Place(
        path="data/cache/<session>",
        holds="A long session, worked out.",
        loss="nothing",
        after="The next call on that session takes longer.",
    ),
    Place(
        path="data/cache/index/sessions-<digest>.sqlite",
        holds="An index of all sessions, for lists and searches; SQLite keeps two files beside it meanwhile.",
        loss="nothing",
        after="The next list or search reads the log, and makes it again.",
    ),
    Place(
        path="data/cache/index/touched",
        holds="Which sessions were written to lately; `touched.1` is the part before it.",
        loss="nothing",
        after="The next list or search looks at every session once.",
    ),
    Place(
        path="data/cache/workflows/<digest>.json",
        holds="Summaries of workflow files.",
        loss="nothing",
        after="The next listing takes longer.",
    ),
    Place(
        path="trees/stores/<digest>/*",
        holds="A git directory with the files of runs that no commit has; the project's own is not written.",
        loss="history",
        after="Files of earlier steps that were not committed cannot be shown or restored.",
    ),
    Place(
        path="trees/projects/<digest>/*",
        holds="Times of the files of a project, and where its repository is.",
        loss="nothing",
        after="The next look at that project takes longer.",
    ),
    Place(
        path="trees/folders/<digest>",
        holds="Times of the files of a scratch folder.",
        loss="nothing",
        after="A scratch folder that still holds files is not written again; delete it.",
    ),
    Place(
        path="data/cache/facts/<digest>",
        holds="What was read in the source files of a project; SQLite keeps two files beside it meanwhile.",
        loss="nothing",
        after="The next `code search` or `code rename` there reads its files again.",
    ),
    Place(
        path="team.json",
        holds="Servers of teams that this machine signed in to, each with the token of an agent, and the "
        "projects that belong to them.",
        loss="yours",
        after="Projects are local again; sign in and link them again.",
    ),
    Place(
        path="data/cache/checks-run",
        holds="Digests of the checks that were run here, and how long each took last.",
        loss="nothing",
        after="The next run of every check counts as its first, and Handrail runs none itself before that.",
    ),
    Place(
        path="data/cache/bytecode/<digest>/*",
        holds="Python's bytecode of what the checks of a project load, for the 20 projects checked last; "
        "Python itself makes these files, in a folder for you alone.",
        loss="nothing",
        after="The next check of that project takes longer.",
    ),
    Place(
        path="data/cache/projects/<digest>",
        holds="Where a project is that a run was begun in.",
        loss="nothing",
        after="A call from another directory finds the files of its run only after a new run begins there.",
    ),
    Place(
        path="data/cache/projects/<digest>.root",
        holds="The first commit of a repository, which tells its project on every machine.",
        loss="nothing",
        after="The next start asks git again.",
    ),
    Place(
        path="data/cache/notices.json",
        holds="What the last look for a newer release found.",
        loss="nothing",
        after="No notice is shown until the next look.",
    ),
    Place(
        path="data/cache/update-check.json",
        holds="When somebody last looked for a newer release, and which was the newest.",
        loss="nothing",
        after="The next `doctor` looks again.",
    ),
    Place(
        path="data/restores/<digest>",
        holds="What a `code restore` or an edit is writing now, to repair it after a kill, and its lock.",
        loss="yours",
        after="A restore or an edit that was killed stays half done.",
    ),
    Place(
        path="data/git/<digest>/*",
        holds="A repository of workflows that you fetched; Handrail itself never fetches.",
        loss="yours",
        after="Its workflows are listed as missing, with the command that fetches them.",
    ),
)


AUDIT_FIELDS = {
    "at": "When, in UTC.",
    "tool": "Through which interface: the command line, MCP, a hook, Python.",
    "version": "Of Handrail.",
    "command": "What was asked for.",
    "args": "With what: ids, numbers, words and paths; a text by its size and digest, no token. "
    "A text in place of an id has its size alone.",
    "account": "By whom.",
    "workspace": "In which project.",
    "effect": "What the command may do: record, process, create, ack, gated, dangerous, update.",
    "dry_run": "Whether it was only a preview.",
    "code": "Of the trouble; null when there was none.",
    "exit": "The exit status, also where no process ended.",
    "duration_ms": "How long it took.",
    "targets_count": "How many things it was about.",
    "token_fingerprint": "Of the token that allowed it.",
    "request_id": "The caller's own key.",
}


def home_page() -> str:
    """The whole page."""
    return page(
        "# The Handrail home",
        "Every file that Handrail keeps in `~/.handrail`, or in the directory that `HANDRAIL_HOME` names.\n"
        "Directories are 0700 and files are 0600: for you alone, whatever the umask is.\n"
        "What you put there yourself (`config.json`, `workflows/`, `contracts/`, `data/git/`) keeps the mode "
        "that you give it, and so do the files in `skill-backup/`.\n"
        "A name that ends in `.removed` is cleared by the next `store gc` or `session delete`.\n"
        "One that ends in `.tmp` was left by a process that was killed; delete it when nothing runs.",
        "## Every file",
        table(
            ("path", "holds", "loss", "if it is deleted"),
            ([f"`{one.path}`", one.holds, one.loss, one.after] for one in PLACES),
        ),
        "## What the losses mean",
        table(("loss", "what it means"), ([name, text] for name, text in LOSSES.items())),
        "## A line of the audit",
        table(("field", "what"), _audit_rows()),
        "[Keep the store](../how-to/keep-the-store.md) says what to back up, and how.\n"
        "[The log on disk](../explanation/log-format.md) tells the format byte by byte.",
    )


def _audit_rows() -> list[list[str]]:
    names = [field.encode_name for field in msgspec.structs.fields(AuditLine)]
    assert names == list(AUDIT_FIELDS), "say in AUDIT_FIELDS what a new field of the audit is"
    return [[f"`{name}`", text] for name, text in AUDIT_FIELDS.items()]
