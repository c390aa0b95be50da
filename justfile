# The verbs of this repository; CI runs the same ones through .ci/run.

# List the verbs.
default:
    @just --list

# Make the environment.
setup:
    .ci/run setup

# Lint, types, import rules, generated files.
check:
    .ci/run check

# Every test: the command of the README, then what that leaves out.
test:
    .ci/run test

# Other people's clients, suites and fuzzers judge the MCP server.
referees:
    .ci/run referees

# Write the reference pages and the outputs that the docs show.
docs:
    uv run python tools/generate.py
    uv run python -m tests.house.shown_commands

# Measure, each figure beside its reference, and write the page about speed.
bench:
    uv run python bench/page.py

# Everything CI does; leaves the wheel in dist/ when all is green.
release:
    .ci/run
    uv build
    @echo "Next: tag the version of pyproject.toml; the release workflow publishes dist/."
