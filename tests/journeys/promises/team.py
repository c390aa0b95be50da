"""What people and agents of a team are promised."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "team.same-everywhere",
        source="team, section 1",
        says="A run of a store in a database goes on on any machine, and a copy has the same bytes.",
    ),
    Promise(
        "team.server-decides",
        source="team, section 1",
        says="A run of a linked project is the server's: a machine keeps nothing, the server opens no file.",
    ),
    Promise(
        "team.companion-looks",
        source="team, section 1",
        says="A look is bound to one call, used once, and told with machine and account.",
    ),
    Promise(
        "team.sources-travel",
        source="team, section 1",
        says="Workflows of the project travel and say where from; those of the server are offered too.",
    ),
    Promise(
        "team.migrations",
        source="team, section 2",
        says="Tables of every earlier version are read with data; newer ones are refused with what to do.",
    ),
    Promise(
        "team.two-trips",
        source="team, section 2",
        says="An advance waits twice for the database.",
    ),
    Promise(
        "team.cut-connections",
        source="team, section 2",
        says="A commit whose connection is cut counts once, wherever it is cut.",
    ),
    Promise(
        "team.search",
        source="team, section 2",
        says="A search in the database finds what it finds beside files.",
    ),
    Promise(
        "team.sign-in",
        source="team, section 3",
        says="People join by an invitation that works once, and sign in by passphrase or their provider.",
    ),
    Promise(
        "team.no-persons-credential",
        source="team, section 3",
        says="A machine is let in by a person, and keeps a token of an agent.",
    ),
    Promise(
        "team.linked-alone",
        source="team, section 3",
        says="Signing in sends nothing until a project is linked.",
    ),
    Promise(
        "team.who-confirms",
        source="team, section 3",
        says="A step says who confirms it: the server checks it, and who may not has no form.",
    ),
    Promise(
        "team.names",
        source="team, section 3",
        says="Events hold ids; names are joined where something is shown.",
    ),
    Promise(
        "team.walls",
        source="team, section 3",
        says="An id of another workspace is as one that never was, and SQL without a workspace sees no row.",
    ),
    Promise(
        "team.rights",
        source="team, section 3",
        says="Roles, scopes and ended credentials are refused everywhere, a revoked token within 5 s.",
    ),
    Promise(
        "team.live",
        source="team, section 4",
        says="A commit on one server is live on another within a second.",
    ),
    Promise(
        "team.away",
        source="team, section 4",
        says="While the database or the server is away, calls say so in time, and nothing falls back.",
    ),
    Promise(
        "team.limits",
        source="team, section 4",
        says="A noisy account or workspace is told to wait, and the others are not.",
    ),
    Promise(
        "team.needs-me",
        source="team, section 4",
        says="What needs you is what waits for you, not for somebody else.",
    ),
    Promise(
        "team.no-cookies",
        source="team, section 4",
        says="No answer sets a cookie, and a page of another site changes nothing.",
    ),
    Promise(
        "team.notices",
        source="team, section 4",
        says="A notice goes out until somebody takes it, and to no private address.",
    ),
    Promise(
        "team.local-cost",
        source="team, section 5",
        says="Who uses files loads nothing of it.",
    ),
    Promise(
        "team.erased",
        source="team, section 3",
        says="Erasing an account clears its name, not what it did.",
    ),
    Promise(
        "team.one-account",
        source="team, section 3",
        says="One person is one account in every workspace, and no workspace opens another by it.",
    ),
)
