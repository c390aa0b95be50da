"""The code tools beside ripgrep, ast-grep and a cold TypeScript service: same tree, same run, processor time.

Run: `python bench/code_tools.py [--files N] [--rounds N] [--keep DIR] [--rg PATH] [--ast-grep PATH]`.
The tree is made of packages from npm, fetched once; with `--keep` it stays there for the next run. Other
programs are looked for on PATH (Debian `ripgrep`, PyPI `ast-grep-cli`); what is absent is skipped and named.
Every figure is the least of its rounds, of user and system time together. Exits 1 where a bound is missed.

The floors say what no program in Python can do without: the interpreter, the libraries, one lstat for each
file, and reading each file once. A query in a running server is what agents ask through MCP.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

PACKAGES = (
    *("rxjs@7.8.1", "lodash@4.17.21", "three@0.170.0", "webpack@5.97.1", "eslint@9.17.0"),
    *("@babel/core@7.26.0", "antd@5.22.5", "core-js@3.39.0", "date-fns@4.1.0"),
)
TYPESCRIPT = "typescript@5.9.3"
ENDINGS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
MOST_BYTES = 1_000_000
RENAMED = {"node_modules": "packages", "dist": "out", "coverage": "covering"}
"""Folders that are skipped as installed or generated, where they are not the subject."""
COMMON, RARE = "createErrorClass", "assertIsPluginMemberName"
RENAME = ("OperatorSubscriber", "operatorSubscriber2")
INSTALL_SECONDS = 600
CLI = (sys.executable, "-m", "handrail.main")
SERVED = 20
"""Questions to a running server: a clock tick is a hundredth of a second."""
LIBRARIES = "import apsw, hashlib, msgspec, re, zlib"
LSTAT = """
import os, subprocess
printed = subprocess.run(["git", "ls-files", "-z"], stdout=subprocess.PIPE).stdout
for path in printed.split(b"\\0")[:-1]:
    os.lstat(path)
"""
READ = (
    LSTAT
    + """    file = os.open(path, os.O_RDONLY)
    b"%s" in os.read(file, 2_000_000)
    os.close(file)
"""
)

SERVICE = """
const ts = require("typescript"), fs = require("fs"), path = require("path");
const [root, file, name] = process.argv.slice(1);
const files = [];
const walk = (at) => { for (const one of fs.readdirSync(at, { withFileTypes: true })) {
  const full = path.join(at, one.name);
  if (one.isDirectory()) walk(full); else if (/[.][cm]?[jt]sx?$/.test(one.name)) files.push(full); } };
walk(root);
const options = { allowJs: true, checkJs: false, noLib: true, moduleResolution: 100, module: 99, target: 99 };
const host = { getScriptFileNames: () => files, getScriptVersion: () => "1", getCurrentDirectory: () => root,
  getScriptSnapshot: (at) => fs.existsSync(at) ? ts.ScriptSnapshot.fromString(fs.readFileSync(at, "utf8"))
    : undefined,
  getCompilationSettings: () => options, getDefaultLibFileName: () => "lib.d.ts",
  fileExists: ts.sys.fileExists, readFile: ts.sys.readFile, readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists, getDirectories: ts.sys.getDirectories };
const service = ts.createLanguageService(host);
const at = fs.readFileSync(file, "utf8").indexOf(`class ${name}`) + 6;
const found = service.findRenameLocations(file, at, false, false, {});
console.log(files.length, found ? found.length : "none");
"""
RULES = "\n---\n".join(
    f"id: {language.lower()}\nlanguage: {language}\nrule: {{pattern: {RARE}}}"
    for language in ("JavaScript", "TypeScript", "Tsx")
)


class Cost(NamedTuple):
    """What one run of a program took."""

    seconds: float
    megabytes: float


class Row(NamedTuple):
    """One figure beside its bound, both in the unit that is named."""

    what: str
    measured: float
    unit: str
    bound: float


def main() -> int:
    """Measure, print, and say whether a bound is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", default="")
    parser.add_argument("--rg", default=shutil.which("rg") or "")
    parser.add_argument("--ast-grep", default=shutil.which("ast-grep") or "")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = given.keep or scratch
        try:
            tree = make_tree(place, given.files)
        except (OSError, subprocess.SubprocessError) as trouble:
            print(f"skipped: the packages cannot be had from npm ({trouble})")
            return 0
        costs = measure(tree, place, given.rg, given.ast_grep, given.rounds)
    rows = list(compare(costs))
    if given.json:
        print(json.dumps({"costs": costs, "rows": rows}, indent=1))
    else:
        show(costs, rows)
    return 1 if any(row.measured > row.bound for row in rows) else 0


# The tree


def make_tree(place: str, most: int) -> str:
    """A project of sources of packages, as their authors publish them, with git's list of files."""
    tree = os.path.join(place, f"tree-{most}")
    installed = os.path.join(place, "npm")
    if not os.path.isdir(os.path.join(installed, "node_modules", "typescript")):
        os.makedirs(installed, exist_ok=True)
        flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error")
        subprocess.run(
            ["npm", "install", *flags, TYPESCRIPT, *PACKAGES],
            cwd=installed,
            check=True,
            timeout=INSTALL_SECONDS,
        )
    if not os.path.isdir(tree):
        copy_sources(os.path.join(installed, "node_modules"), tree, most)
        subprocess.run(["git", "init", "-q", tree], check=True)
        subprocess.run(["git", "-C", tree, "add", "-A"], check=True)
    return tree


def copy_sources(installed: str, tree: str, most: int) -> None:
    named = [name.rpartition("@")[0] for name in PACKAGES]
    others = sorted(
        {one for one in os.listdir(installed) if not one.startswith(".")} - {*named, "typescript"}
    )
    left = most
    for package in [*named, *others]:
        for folder, folders, files in os.walk(os.path.join(installed, package)):
            folders.sort()
            for name in sorted(files):
                full = os.path.join(folder, name)
                is_source = name.endswith(ENDINGS) and os.path.getsize(full) <= MOST_BYTES
                if left == 0 or not (is_source or name in ("package.json", "tsconfig.json")):
                    continue
                left -= is_source
                path = os.path.relpath(full, installed).split(os.sep)
                target = os.path.join(tree, *(RENAMED.get(part, part) for part in path))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(full, target)


# Measuring


def measure(tree: str, place: str, rg: str, ast_grep: str, rounds: int) -> dict[str, Cost]:
    """Each question to each program that there is; cold means that nothing is kept of an earlier call."""
    homes = tempfile.mkdtemp(dir=place)
    subject = find_file(tree, f"class {RENAME[0]}")
    costs: dict[str, Cost] = {}

    def take(what: str, *calls: Callable[[], Cost]) -> None:
        """Rounds of several programs in turn, so that a busy minute strikes them all."""
        taken = [call() for _ in range(rounds) for call in calls]
        costs[what] = Cost(min(one.seconds for one in taken), max(one.megabytes for one in taken))

    def ours(home: str, *arguments: str) -> Callable[[], Cost]:
        def call() -> Cost:
            at = os.path.join(homes, home) if home else tempfile.mkdtemp(dir=homes)
            return run([*CLI, *arguments, "--envelope", "cont"], tree, {"HANDRAIL_HOME": at})

        return call

    try:
        take("cold rare name", ours("", "js-scan", "--search", RARE))
        ours("warm", "js-scan", "--search", COMMON)()
        take("warm query", ours("warm", "js-scan", "--search", COMMON))
        take("warm query in a server", lambda: ask_server(tree, os.path.join(homes, "warm")))
        take("floor: python", lambda: run([sys.executable, "-c", "pass"], tree))
        take("floor: python with libraries", lambda: run([sys.executable, "-c", LIBRARIES], tree))
        take("floor: python with an lstat of each file", lambda: run([sys.executable, "-c", LSTAT], tree))
        take("floor: and reading each", lambda: run([sys.executable, "-c", READ % RARE], tree))
        take("one changed file", change_one(tree, subject, ours("warm", "js-scan", "--search", COMMON)))
        take(
            "cold rename preview",
            ours("", "js-edit", "--file", subject, "--rename", RENAME[0], "--to", RENAME[1]),
        )
        costs["full facts"] = ours("full", "js-scan", "--deps", subject)()
        named = find_id(tree, os.path.join(homes, "full"), subject)
        take("warm ripple", ours("full", "js-scan", "--ripple", named))
        if rg:
            take("ripgrep, rare name", lambda: run([rg, "-n", "-F", RARE, "."], tree))
            take("ripgrep, common name", lambda: run([rg, "-n", "-F", COMMON, "."], tree))
        else:
            print("skipped: ripgrep is not on PATH")
        if ast_grep:
            take(
                "ast-grep, one pass",
                lambda: run([ast_grep, "scan", "--inline-rules", RULES, "."], tree, accepted=(0, 1)),
            )
        else:
            print("skipped: ast-grep is not on PATH")
        if shutil.which("node"):
            modules = os.path.join(place, "npm", "node_modules")
            service = ["node", "-e", SERVICE, "--", tree, os.path.join(tree, subject), RENAME[0]]
            costs["TypeScript service, cold rename"] = run(service, tree, {"NODE_PATH": modules})
        else:
            print("skipped: node is not on PATH, so there is no TypeScript service")
    finally:
        shutil.rmtree(homes, ignore_errors=True)
    return costs


def run(
    command: Sequence[str], tree: str, more: Mapping[str, str] | None = None, accepted: Sequence[int] = (0,)
) -> Cost:
    """The processor time and the memory of a program and of those it waits for."""
    child = subprocess.Popen(
        command,
        cwd=tree,
        env={**os.environ, **(more or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in accepted:
        raise SystemExit(
            f"{command[0]} ended with {child.returncode}: {said.decode(errors='replace')[-500:]}"
        )
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def ask_server(tree: str, home: str) -> Cost:
    """One warm query to `handrail mcp --set code`, as the mean of many."""
    child = subprocess.Popen(
        [*CLI, "mcp", "--set", "code", "--project", tree],
        cwd=tree,
        env={**os.environ, "HANDRAIL_HOME": home},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        asked = {"name": "code_search", "arguments": {"search": COMMON}}
        client = {"name": "bench", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        _converse(child, 0, "initialize", hello)
        for number in range(1, 4):
            _converse(child, number, "tools/call", asked)
        before = _processor_seconds(child.pid)
        for number in range(SERVED):
            _converse(child, 10 + number, "tools/call", asked)
        seconds = (_processor_seconds(child.pid) - before) / SERVED
    finally:
        assert child.stdin is not None
        child.stdin.close()
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
    return Cost(seconds, used.ru_maxrss / 1024)


def _converse(child: subprocess.Popen[bytes], number: int, method: str, params: Mapping[str, object]) -> None:
    """One message, and its answer."""
    assert child.stdin is not None
    assert child.stdout is not None
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    child.stdin.write(json.dumps(message).encode() + b"\n")
    child.stdin.flush()
    while line := child.stdout.readline():
        answer = json.loads(line)
        if answer.get("id") == number:
            if "result" not in answer or answer["result"].get("isError"):
                raise SystemExit(f"the server answered {line[:500]!r}")
            return
    raise SystemExit("the server ended")


def _processor_seconds(process: int) -> float:
    """Of the process and of the children that it has waited for."""
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def change_one(tree: str, subject: str, ask: Callable[[], Cost]) -> Callable[[], Cost]:
    """The same question after one more comment in a file that holds the answer."""
    count = 0

    def call() -> Cost:
        nonlocal count
        count += 1
        with open(os.path.join(tree, subject), "a", encoding="utf-8") as file:
            file.write(f"// {COMMON} {os.getpid()} {count}\n")
        return ask()

    return call


def find_id(tree: str, home: str, subject: str) -> str:
    """How an answer names the definition that is renamed."""
    command = [*CLI, "js-edit", "--file", subject, "--locate", RENAME[0], "--envelope", "cont"]
    told = subprocess.run(
        command, cwd=tree, env={**os.environ, "HANDRAIL_HOME": home}, stdout=subprocess.PIPE, check=True
    )
    return str(json.loads(told.stdout)["location"]["id"])


def find_file(tree: str, *texts: str) -> str:
    """The first file with one of the texts, relative to the tree."""
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".ts") and not name.endswith(".d.ts"):
                full = os.path.join(folder, name)
                with open(full, encoding="utf-8", errors="replace") as file:
                    content = file.read()
                if any(text in content for text in texts):
                    return os.path.relpath(full, tree)
    raise SystemExit(f"no file has {texts[0]}")


# Bounds


def compare(costs: Mapping[str, Cost]) -> list[Row]:
    """What the design asks for; a row needs both of its programs."""
    rows = [
        ("warm query", "ripgrep, common name", 1.5),
        ("warm query in a server", "ripgrep, common name", 1.5),
        ("cold rare name", "ripgrep, rare name", 4.0),
        ("cold rare name", "ast-grep, one pass", 1 / 25),
        ("full facts", "ast-grep, one pass", 2.5),
        ("cold rename preview", "TypeScript service, cold rename", 1 / 10),
    ]
    found = [
        Row(f"{ours} / {theirs}", costs[ours].seconds / costs[theirs].seconds, "×", bound)
        for ours, theirs, bound in rows
        if theirs in costs
    ]
    changed = 1000 * (costs["one changed file"].seconds - costs["warm query"].seconds)
    most = max(costs[name].megabytes for name in OURS)
    return [*found, Row("one changed file", changed, "ms", 100), Row("memory, at most", most, "MB", 400)]


OURS = (
    "cold rare name",
    "warm query",
    "warm query in a server",
    "one changed file",
    "cold rename preview",
    "full facts",
    "warm ripple",
)


def show(costs: Mapping[str, Cost], rows: Sequence[Row]) -> None:
    for what, cost in costs.items():
        print(f"{what:<42}{cost.seconds:>9.3f} s{cost.megabytes:>8.0f} MB")
    print()
    for row in rows:
        verdict = "within" if row.measured <= row.bound else "MISSED"
        print(f"{row.what:<56}{row.measured:>9.3f} {row.unit:<3} {verdict} {row.bound:.3g}")


if __name__ == "__main__":
    sys.exit(main())
