"""The words of a command for readers: secrets in the options of well-known programs are hidden."""

from __future__ import annotations

import shlex

from handrail.contract.printed_text import redact_argv, redact_command_line
from handrail.contract.redaction import REDACTED, Secrets
from tests.cases import every_case

HIDDEN = [
    "curl -u bob:hunter2secret http://x",
    "curl -ubob:hunter2secret http://x",
    "curl --user bob:hunter2secret http://x",
    "curl --user=bob:hunter2secret http://x",
    "curl -H 'X-Api-Key: hunter2secret' http://x",
    "curl -H 'Authorization: Bearer hunter2secret' http://x",
    "curl -H 'Authorization: hunter2secret' http://x",
    "curl -H 'Cookie: a=hunter2secret' http://x",
    "curl https://bob:hunter2secret@host/x",
    "http -a bob:hunter2secret host",
    "mysql -uroot -phunter2secret",
    "mysql --password=hunter2secret",
    "sudo mysqldump -phunter2secret db",
    "sshpass -p hunter2secret ssh host",
    "redis-cli -a hunter2secret ping",
    "docker login -u bob -p hunter2secret",
    "tool --password hunter2secret",
    "tool --db-password 'hunter2secret'",
    "tool --token hunter2secret run",
    "tool --api-key=hunter2secret",
    "PGPASSWORD=hunter2secret psql -h h",
    "env MYSQL_PWD=hunter2secret mysql",
    "export API_KEY=hunter2secret",
    "make && PGPASSWORD='hunter2secret' psql | tee out",
    "sh -c 'mysql -phunter2secret -e x'",
    "(curl -u bob:hunter2secret http://x)",
    "python3 tool.py -phunter2secret",
]
SHORT = [
    "tool --password=x7",
    "tool --password x7",
    "tool --token x7",
    "PGPASSWORD=x7 psql",
    "curl -H 'Authorization: Bearer x7' http://h",
    "mysql -px7",
    "tool --password 70707",
]
PLAIN = [
    "ssh -p 8080 host",
    "ssh -p8080 host",
    "curl -u user http://x",
    "docker run -u 1000:1000 -p 8080:80 image",
    "docker run -p hunter image",
    "find . -path ./node_modules -prune -o -print0",
    "gcc -pthread -pedantic a.c",
    "mkdir -p build/out",
    "pytest -p no:cacheprovider -k 'token and not secret'",
    "tool --max-tokens 100 --max-tokens=100",
    "python3 -m pytest tests/test_tokens.py::test_a[b-1]",
    "git commit -m 'rename the password field'",
    "npm run build -- --port=3000",
    "sed -n 's/a: b/c/p' file.txt",
    "a=1 b=2 make; echo done && ls | wc -l",
    "python3 -c 'a = {}; print(\"x y\") if a else b'",
    "x='a b'c\"d e\" make",
    "echo it's \"half quoted",
]


@every_case("line", HIDDEN)
def test_a_secret_in_an_option_is_hidden_in_lines_and_in_words(line: str) -> None:
    assert "hunter2secret" not in redact_command_line(line, Secrets())
    assert REDACTED in redact_command_line(line, Secrets())
    if not any(sign in line for sign in "&|()"):
        assert "hunter2secret" not in " ".join(redact_argv(shlex.split(line), Secrets()))


@every_case("line", SHORT)
def test_a_short_secret_is_hidden_too(line: str) -> None:
    shown = [redact_command_line(line, Secrets()), " ".join(redact_argv(shlex.split(line), Secrets()))]

    assert not any("x7" in one or "70707" in one for one in shown)


@every_case("line", PLAIN)
def test_what_only_looks_alike_stays_as_it_is(line: str) -> None:
    assert redact_command_line(line, Secrets()) == line
    if line.count("'") != 1:
        assert list(redact_argv(shlex.split(line), Secrets())) == shlex.split(line)


def test_a_long_line_of_odd_signs_is_read_once() -> None:
    assert len(redact_command_line("'\"\\(;" * 20_000, Secrets())) == 100_000
