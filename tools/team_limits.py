"""What limits the server of a team, for the page of limits: module, name, and what it limits."""

from __future__ import annotations

TEAM = (
    (
        "handrail_team.accounts.names",
        "MOST_CHARACTERS",
        "Characters of a name of a person, agent or workspace.",
    ),
    ("handrail_team.door", "CALLS_A_MINUTE", "Calls of one account in a minute, on each server."),
    ("handrail_serve.limits", "REQUESTS_OF_AN_ACCOUNT", "Calls of one account in progress at once."),
    ("handrail_serve.limits", "TEAM_FEEDS_AT_ONCE", "Feeds that are open on one server; 8 of one account."),
    ("handrail_serve.accounts.sign_in", "MOST_BYTES", "A request that signs somebody in."),
    ("handrail_team.accounts.credentials", "SHORTEST_PASSPHRASE", "Characters of a passphrase at least."),
    ("handrail_team.accounts.credentials", "LONGEST_PASSPHRASE", "Characters of a passphrase at most."),
    ("handrail_team.accounts.directory", "INVITATION_SECONDS", "How long an invitation is good."),
    ("handrail_team.accounts.directory", "PAGE_SECONDS", "How long a page stays signed in."),
    ("handrail_team.accounts.directory", "OVERLAP_SECONDS", "How long a page token works after the next."),
    ("handrail_team.operations.new_token", "DAYS", "How long a token of an agent is good by default."),
    ("handrail_team.operations.new_token", "MOST_DAYS", "How long it can be good."),
    ("handrail_team.operations.list_audit", "MOST_ROWS", "Rows that `team audit` shows."),
    ("handrail_team.door", "CALLS_OF_A_WORKSPACE", "Calls a minute of all accounts of a workspace."),
    ("handrail_team.door", "FRESH_SECONDS", "How long a server believes a credential without asking again."),
    ("handrail_team.door", "FREE_TRIES", "Wrong passphrases in a row before the next one has to wait."),
    ("handrail_team.door", "LONGEST_WAIT_S", "The longest such wait, in seconds."),
    ("handrail_team.accounts.provider", "STATE_SECONDS", "For signing in at an identity provider."),
    ("handrail_team.accounts.provider", "MOST_BYTES", "An answer of an identity provider."),
    ("handrail_team.accounts.machines", "WAIT_SECONDS", "For a person to let a machine in."),
    ("handrail_team.accounts.machines", "TOKEN_DAYS", "How long the token of such a machine is good."),
    ("handrail_team.companion.answer", "LIFETIME_SECONDS", "For a look that the server asked for."),
    ("handrail_team.companion.link", "ANSWER_SECONDS", "How long a companion waits for its server."),
    ("handrail_team.companion.look", "MOST_PRINTED_BYTES", "What a check printed, as it is sent: its end."),
    ("handrail_team.sender", "ANSWER_SECONDS", "For the receiver of a notice to answer."),
    ("handrail_team.sender", "MOST_TRIES", "Tries of one notice, each later than the one before."),
    ("handrail_team.sender", "LONGEST_WAIT_S", "The longest wait between two of them, in seconds."),
    ("host.programs", "SECONDS", "For the command of `notify`."),
    ("operations.notices.outward", "LONGEST_TEXT", "Text of a run in a notice, where it may leave."),
)
