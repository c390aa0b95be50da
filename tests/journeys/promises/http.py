"""What the HTTP server promises: who is let in, what it answers, and how it stops."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "http.guard.every-route",
        source="MCP and HTTP, section 7, S1",
        says="Every route refuses another Host, another Origin, another site and a missing token.",
    ),
    Promise(
        "http.guard.no-cors-no-cookies",
        source="MCP and HTTP, section 7, S3",
        says="No route sets a cookie, answers another origin, or changes something by GET.",
    ),
    Promise(
        "http.guard.transport-answers",
        source="MCP and HTTP, section 4, check 7",
        says="What is refused before the app sees it has the headers of every other answer.",
    ),
    Promise(
        "http.deprecation",
        source="Response contract, section 10",
        says="A call that uses what will be removed is told by a notice and by Deprecation and Sunset.",
    ),
    Promise(
        "http.api.every-operation",
        source="MCP and HTTP, section 4",
        says="Every operation is at /api under its name, with the payload of the command line.",
    ),
    Promise(
        "http.views.bounded",
        source="MCP and HTTP, section 4, limits",
        says="A page of the Console has at most 256 KB: a list has fewer rows, or the page says where it is.",
    ),
    Promise(
        "http.feed",
        source="MCP and HTTP, section 5, Live",
        says="A listener hears of every session that changed, also of what changed while it was away.",
    ),
    Promise(
        "http.feed.quiet",
        source="MCP and HTTP, section 8, row 15",
        says="Nothing looks for changes while nobody listens.",
    ),
    Promise(
        "http.health",
        source="Response contract, section 9",
        says="Health answers come from the checks of doctor, and each of these can fail.",
    ),
    Promise(
        "http.telemetry",
        source="MCP and HTTP, section 7, S4",
        says="Telemetry is off by default, names operations and how they ended, and carries no content.",
    ),
    Promise(
        "http.upstreams.retry",
        source="Response contract, section 9",
        says="An upstream that is silent or says when is asked once more, within the time of one call.",
    ),
    Promise(
        "http.lafs.ledger",
        source="LAFS, section 8.1",
        says="The ledger of a run is at its LAFS address in all three modes, and conforms.",
    ),
    Promise(
        "http.lafs.discovery",
        source="Response contract, section 9",
        says="The discovery document conforms, names every operation, and is cached by its tag.",
    ),
    Promise(
        "http.a2a.card",
        source="Response contract, section 9",
        says="The agent card conforms, names every operation, and is there where calls by A2A are answered.",
    ),
    Promise(
        "http.a2a.calls",
        source="Response contract, section 9",
        says="A call by A2A is one task, which ends as the call did and carries its LAFS envelope.",
    ),
    Promise(
        "http.lafs.disclosure",
        source="LAFS, section 9",
        says="A request picks fields, expansions and budgets by the names of LAFS.",
    ),
    Promise(
        "http.lafs.check",
        source="Response contract, section 12, row 12",
        says="`lafs check --url` judges a server by what it answers.",
    ),
    Promise(
        "http.serve.loopback",
        source="MCP and HTTP, section 7, S2",
        says="The server listens on loopback, and any other address is refused before it is bound.",
    ),
    Promise(
        "http.serve.token-in-a-file",
        source="MCP and HTTP, section 7, S4",
        says="The token of a server is in 0600 files, and in no output, address or answer.",
    ),
    Promise(
        "http.serve.stops",
        source="Response contract, section 9",
        says="A server that is told to stop finishes what runs, refuses new work, and exits with 0.",
    ),
    Promise(
        "http.tokens.refused-alike",
        source="MCP and HTTP, section 7, S5",
        says="A forged token or unknown id tells nothing: deleted, foreign and never there are alike.",
    ),
    Promise(
        "http.text.harmless",
        source="MCP and HTTP, section 7, S6",
        says="Stored text runs in no page or report, steers no reader of JSON, and stays fenced for agents.",
    ),
    Promise(
        "http.ids.no-paths",
        source="MCP and HTTP, section 7, S7",
        says="No text of any operation, page, ledger address or resource becomes a path.",
    ),
    Promise(
        "http.files.private",
        source="MCP and HTTP, section 7, S8",
        says="The files of a server are 0600 in a 0700 folder whatever the umask.",
    ),
    Promise(
        "http.import.refused",
        source="MCP and HTTP, section 7, S9",
        says="Every hostile bundle, body and stream is refused, and the store stays byte for byte the same.",
    ),
    Promise(
        "http.starts-nothing-but-git",
        source="MCP and HTTP, section 7, S10",
        says="No operation that the server offers starts a program other than git, or asks another server.",
    ),
    Promise(
        "http.clients-apart",
        source="MCP and HTTP, section 7, S12",
        says="Calls of two clients at once get their own answers, over HTTP and over pipes.",
    ),
    Promise(
        "http.frames",
        source="MCP and HTTP, section 7, S13",
        says="Broken, cut and endless requests end their connection and not the server.",
    ),
)
