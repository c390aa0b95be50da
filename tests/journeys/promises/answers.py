"""What the specifications of answers promise, and what EXEC, PACK and CLI demand beside their sections."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CLI 9
      start.request-id: A repeated request id returns the same run and starts nothing.
    CLI 4
      input.all-problems: Every problem of a call is reported at once, with the repaired call.
    CLI 8
      sessions.paging: Pages of one joined are the whole list.
    LAFS 8
      ledger.version: The ledger moves by one per accepted call and by none per read.
    mcp-and-http 1.1
      session.switched-off: Switched off, agents are not offered it.
    execution, must hold 6
      source.differs: A rehydrate says that the file has changed.
    DESIGN 9
      session.without-run: A session without a run keeps notes, is found, and takes runs.
      loops.decided: A loop goes on as its last step decided, and only then.
    execution, reasons
      gaps.resolved: A later gap settles an earlier one by link.
    CLI 9
      bundle.gated: An import is shown first, and made only as it was shown.
    agent-cli 4
      cli.timeout: `--timeout` covers stdin and waiting for a lock.
      cli.project-settings: Settings of a project say how answers look, and set neither store, keys,
          update nor permissions.
      cli.secret-variable: `AI_NATIVE_CLI_SECRET` stands in for the key file, and one that is too short is
          refused unseen.
    agent-cli 6
      cli.ceiling: `max_effect` is a ceiling that the environment can only lower.
    EXEC, Preferences; truth, R5
      truth.preferences.going-back: A change reaches the places where work stood when it was made; an
          older step is told and judged in its own, and what is told is what its report meets.
    EXEC, observations
      finding.branch-among-equals: Without a question, work of the branch that is checked out comes first
          among work at one commit.
    EXEC, bundles
      finding.same-state-same-bytes: Exports of one state of a session are the same bytes, whenever they
          are made.
    EXEC, legacy ids
      finding.one-suggestion-per-file: No two workflow files are told to take the same id.
    Response contract, section 10
      http.deprecation: A call that uses what will be removed is told by a notice and by Deprecation and
          Sunset.
    Response contract, section 9
      http.health: Health answers come from the checks of doctor, and each of these can fail.
      http.upstreams.retry: An upstream that is silent or says when is asked once more, within the time of
          one call.
      http.lafs.discovery: The discovery document conforms, names every operation, and is cached by its
          tag.
      http.a2a.card: The agent card conforms, names every operation, and is there where calls by A2A are
          answered.
      http.a2a.calls: A call by A2A is one task, which ends as the call did and carries its LAFS envelope.
      http.serve.stops: A server that is told to stop finishes what runs, refuses new work, and exits with
          0.
    LAFS, section 8.1
      http.lafs.ledger: The ledger of a run is at its LAFS address in all three modes, and conforms.
    LAFS, section 9
      http.lafs.disclosure: A request picks fields, expansions and budgets by the names of LAFS.
    """
)
