"""What people and agents of a team are promised."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    team, section 1
      team.same-everywhere: A run of a store in a database goes on on any machine, and a copy has the same
          bytes.
      team.server-decides: A run of a linked project is the server's: it opens no file, and contents of
          files stay on the machine.
      team.companion-looks: A look is bound to one call, used once, and told with machine and account.
      team.sources-travel: Workflows of the project travel and say where from; those of the server are
          offered too.
    team, section 2
      team.migrations: Tables of every earlier version are read with data; newer ones are refused with what
          to do.
      team.two-trips: An advance waits twice for the database.
      team.audit-of-people: The audit has what people do and what was refused; steps of agents stand in
          the log.
      team.cut-connections: A commit whose connection is cut counts once, wherever it is cut.
      team.search: A search in the database finds what it finds beside files.
    team, section 3
      team.sign-in: People join by an invitation that works once, and sign in by passphrase or their
          provider.
      team.no-persons-credential: A machine is let in by a person, and keeps a token of an agent.
      team.linked-alone: Signing in sends nothing until a project is linked.
      team.who-confirms: A step says who confirms it: the server checks it, and who may not has no form.
      team.names: Events hold ids; names are joined where something is shown.
      team.walls: An id of another workspace is as one that never was, and SQL without a workspace sees no
          row.
      team.rights: Roles, scopes and ended credentials are refused everywhere, a revoked token within 5 s.
      team.erased: Erasing an account clears its name, not what it did.
      team.one-account: One person is one account in every workspace, and no workspace opens another by it.
    team, section 4
      team.workers: Several workers look like one server: one stop, one count of calls, and a dead one is
          replaced.
      team.live: A commit on one server is live on another within a second.
      team.away: While the database or the server is away, calls say so in time, and nothing falls back.
      team.limits: A noisy account or workspace is told to wait, and the others are not.
      team.sign-in-flood: A flood of sign-ins hashes at most two at a time, apart from agents' calls, and
          locks nobody out who signs in elsewhere.
      team.systemd-credential: The unit gets its password from systemd, under a user of its own.
      team.init-refused: A refused `team init` leaves nothing in the database.
      team.needs-me: What needs you is what waits for you, not for somebody else.
      team.no-cookies: No answer sets a cookie, and a page of another site changes nothing.
      team.notices: A notice goes out until somebody takes it, and to no private address.
    team, section 5
      team.local-cost: Who uses files loads nothing of it.
    """
)
