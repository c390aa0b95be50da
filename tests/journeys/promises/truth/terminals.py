"""Bytes, terminals, the index and the cost of learning (truth, sections 3 and 4)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "truth.system-bytes",
        "truth, R23",
        "Directories, users and branches that are not UTF-8 never break a call, in any locale.",
    ),
    Promise(
        "truth.no-raw-controls",
        "truth, R26",
        "Control and escape characters never reach a terminal or a prompt raw, whichever door brought them.",
    ),
    Promise(
        "truth.next-command",
        "truth, R16",
        "On the command line every reply with a next call carries the command to run, in both dialects.",
    ),
    Promise(
        "truth.repaired-lines",
        "truth, R16",
        "A line with a tool's spelling, a bare token or a bare workflow name is answered with the right one.",
    ),
    Promise(
        "truth.cheap-to-learn",
        "truth, R30",
        "The skill's first step costs at most 600 tokens, the reference of one command at most 1 200.",
    ),
    Promise(
        "truth.index-outage",
        "truth, R29",
        "Whatever status the package index answers with, an update tells it with its stage and versions.",
    ),
    Promise(
        "truth.declared-answers",
        "truth, R25",
        "Answers hold the keys, marks and codes that the reference declares for them, and no others.",
    ),
    Promise(
        "truth.nothing-vanishes",
        "truth, R11",
        "A session that a link leads to is listed as unreadable, and doctor and its list say so.",
    ),
    Promise(
        "truth.shared-skill",
        "truth, R25",
        "The skill is shown as removed, and is removed, only with the last client that needs it.",
    ),
)
