"""What the HTTP server promises: who is let in, what it answers, and how it stops."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    MCP and HTTP, section 7, S1
      http.guard.every-route: Every route refuses another Host, another Origin, another site and a missing
          token.
    MCP and HTTP, section 7, S3
      http.guard.no-cors-no-cookies: No route sets a cookie, answers another origin, or changes something by
          GET.
    MCP and HTTP, section 4, check 7
      http.guard.transport-answers: What is refused before the app sees it has the headers of every other
          answer.
    Response contract, section 10
      http.deprecation: A call that uses what will be removed is told by a notice and by Deprecation and
          Sunset.
    MCP and HTTP, section 4
      http.api.every-operation: Every operation is at /api under its name, with the payload of the command
          line.
    MCP and HTTP, section 4, limits
      http.views.bounded: A page of the Console has at most 256 KB: a list has fewer rows, or the page says
          where it is.
    MCP and HTTP, section 5, Live
      http.feed: A listener hears of every session that changed, also of what changed while it was away.
    MCP and HTTP, section 8, row 15
      http.feed.quiet: Nothing looks for changes while nobody listens.
    Response contract, section 9
      http.health: Health answers come from the checks of doctor, and each of these can fail.
      http.upstreams.retry: An upstream that is silent or says when is asked once more, within the time of
          one call.
      http.lafs.discovery: The discovery document conforms, names every operation, and is cached by its tag.
      http.a2a.card: The agent card conforms, names every operation, and is there where calls by A2A are
          answered.
      http.a2a.calls: A call by A2A is one task, which ends as the call did and carries its LAFS envelope.
      http.serve.stops: A server that is told to stop finishes what runs, refuses new work, and exits with
          0.
    MCP and HTTP, section 7, S4
      http.telemetry: Telemetry is off by default, names operations and how they ended, and carries no
          content.
      http.serve.token-in-a-file: The token of a server is in 0600 files, and in no output, address or
          answer.
    LAFS, section 8.1
      http.lafs.ledger: The ledger of a run is at its LAFS address in all three modes, and conforms.
    LAFS, section 9
      http.lafs.disclosure: A request picks fields, expansions and budgets by the names of LAFS.
    Response contract, section 12, row 12
      http.lafs.check: `lafs check --url` judges a server by what it answers.
    MCP and HTTP, section 7, S2
      http.serve.loopback: The server listens on loopback, and any other address is refused before it is
          bound.
    MCP and HTTP, section 7, S5
      http.tokens.refused-alike: A forged token or unknown id tells nothing: deleted, foreign and never
          there are alike.
    MCP and HTTP, section 7, S6
      http.text.harmless: Stored text runs in no page or report, steers no reader of JSON, and stays fenced
          for agents.
    MCP and HTTP, section 7, S7
      http.ids.no-paths: No text of any operation, page, ledger address or resource becomes a path.
    MCP and HTTP, section 7, S8
      http.files.private: The files of a server are 0600 in a 0700 folder whatever the umask.
    MCP and HTTP, section 7, S9
      http.import.refused: Every hostile bundle, body and stream is refused, and the store stays byte for
          byte the same.
    MCP and HTTP, section 7, S10
      http.starts-nothing-but-git: No operation that the server offers starts a program other than git, or
          asks another server.
    MCP and HTTP, section 7, S12
      http.clients-apart: Calls of two clients at once get their own answers, over HTTP and over pipes.
    MCP and HTTP, section 7, S13
      http.frames: Broken, cut and endless requests end their connection and not the server.
    security, section 1
      server.roots: A server opens no path outside its roots, and writes no state, program or interpreter.
    """
)
