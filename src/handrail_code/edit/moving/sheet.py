"""One file under edit: names go into and out of its lists of imports and exports, text goes away or comes in.

Changes are collected first and spelled at the end, because two of them may meet in one statement. What is
not changed keeps its bytes: line ends, indentation, quotes, commas and the last newline. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from handrail_code.edit.plan import Change, Edit
from handrail_code.languages.javascript.layout import Layout, Piece, Statement, read_layout

Form: TypeAlias = Literal["import", "export", "require"]
OF_FORM = {"import": "import", "export": "export_list", "require": "require"}
ABOUT_NEXT_LINE = re.compile(
    rb"-disable-next-line|@ts-ignore|@ts-expect-error|prettier-ignore|biome-ignore|ignore next"
)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Want(msgspec.Struct, frozen=True, kw_only=True):
    """A name that a file takes from a module: `import {name as local}`, `export {name as local} from`."""

    form: Form
    specifier: str
    name: str
    """`default`, `*` for the whole module, or a name there."""
    local: str
    is_type: bool = False
    origin: int = -1
    """The statement that took it from elsewhere."""


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """How a file writes its imports."""

    quote: str = "'"
    has_semicolons: bool = True
    blank: str = " "
    """Inside of braces."""
    keyword: str = "const"


class Sheet:
    def __init__(self, path: str, text: bytes | None, like: Style | None = None) -> None:
        self.path = path
        self.is_new = text is None
        self.text = text or b""
        self.layout: Layout = read_layout(path, self.text)
        self.eol = "\r\n" if b"\r\n" in self.text else "\n"
        self.style = read_style(self.layout, self.text, like)
        self._taken: dict[int, set[int]] = {}
        self._without_default: set[int] = set()
        self._added: dict[int, list[str]] = {}
        self._wants: list[Want] = []
        self._retargeted: dict[int, str] = {}
        self._removed: set[int] = set()
        self._replaced: list[Change] = []
        self._cut: list[tuple[int, int]] = []
        self._begun: list[str] = []
        self._appended: list[str] = []
        self.has_new_export = False
        self.specifiers: dict[int, str] = {}
        """Statement -> the module that it takes from, as the caller resolved it."""

    # Collecting

    def take_out(self, statement: int, piece: Piece) -> None:
        self._taken.setdefault(statement, set()).add(self.layout.statements[statement].pieces.index(piece))

    def take_default_out(self, statement: int) -> None:
        self._without_default.add(statement)

    def remove(self, statement: int) -> None:
        self._removed.add(statement)

    def replace(self, start: int, end: int, replacement: str) -> None:
        self._replaced.append((start, end, replacement))

    def cut(self, start: int, end: int) -> None:
        """Remove a statement with its lines and the blank lines that it no longer needs."""
        self._cut.append((start, end))

    def want(self, want: Want) -> None:
        if want not in self._wants:
            self._wants.append(want)

    def add_piece(self, statement: int, spelled: str) -> None:
        self._added.setdefault(statement, []).append(spelled)

    def begin(self, text: str) -> None:
        """A directive of a file without statements, which counts only before everything else."""
        self._begun.append(text)

    def append(self, text: str) -> None:
        self._appended.append(text.replace("\r\n", "\n").replace("\n", self.eol))

    def is_module_left(self, gone: set[int]) -> bool:
        """Whether an import or export is left that makes the file a module; `gone` are removed statements."""
        if self._wants or self.has_new_export:
            return True
        for at, statement in enumerate(self.layout.statements):
            is_module = statement.is_exported or statement.kind in (
                *("import", "export_list", "export_star", "export_default"),
            )
            if is_module and at not in gone and at not in self._removed and not self._is_emptied(at):
                return True
        return False

    # Spelling

    def edits(self) -> tuple[Edit, ...]:
        made = list(self._replaced)
        self._join_wants(made)
        lines = self._new_statements()
        anchor = self._anchor()
        for at, statement in enumerate(self.layout.statements):
            if at in self._retargeted and statement.module_span is not None:
                made.append((statement.module_span.start, statement.module_span.end, self._retargeted[at]))
            if self._is_emptied(at):
                self._removed.add(at)
                continue
            if at in self._without_default and statement.default_span is not None:
                span = statement.default_span
                rest = self.text[span.end : statement.end]
                gap = len(rest) - len(rest.lstrip(b", \t\r\n"))
                made.append((span.start, span.end + gap, ""))
            if at in self._taken or at in self._added:
                made += _change_list(
                    statement, self._taken.get(at, set()), self._added.get(at, []), self.text, self.style
                )
        for at in sorted(self._removed):
            statement = self.layout.statements[at]
            start = self._own_lead(statement)
            if at == anchor and lines:
                made.append((start, statement.tail, self.eol.join(lines)))
                lines = []
            else:
                self._cut.append((start, statement.tail))
        made += [(*removal(self.text, start, end), "") for start, end in self._joined_cuts()]
        if lines:
            made.insert(0, self._insertion(anchor, lines, made))  # before a word that is put at its place
        if self._appended:
            made.append(self._ending(made))
        return self._as_edits(made)

    def _own_lead(self, statement: Statement) -> int:
        """Where an import that goes away begins: comments above it stay, unless about the next line."""
        start = statement.start
        for comment in reversed(self.layout.comments):
            is_above = statement.lead <= comment.start and comment.end <= start
            if is_above and not self.text[comment.end : start].strip():
                if not ABOUT_NEXT_LINE.search(self.text[comment.start : comment.end]):
                    break
                start = comment.start
        return start

    def _joined_cuts(self) -> list[tuple[int, int]]:
        """Neighbours that go away together leave one gap."""
        joined: list[tuple[int, int]] = []
        for start, end in sorted(self._cut):
            if joined and not self.text[joined[-1][1] : start].strip():
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return joined

    def _is_emptied(self, at: int) -> bool:
        """Nothing is left in the list; an empty object of exports stays."""
        statement = self.layout.statements[at]
        is_without_default = at in self._without_default
        has_more = statement.has_more and not (
            is_without_default and (statement.braces is not None or self._is_default_alone(statement))
        )
        return (
            len(self._taken.get(at, ())) == len(statement.pieces)
            and (bool(statement.pieces) or is_without_default)
            and not self._added.get(at)
            and not has_more
            and at not in self._retargeted
            and statement.kind != "exports_object"
        )

    def _is_default_alone(self, statement: Statement) -> bool:
        span = statement.default_span
        behind = self.text[span.end : statement.end].lstrip() if span is not None else b","
        return not behind.startswith(b",")

    def _join_wants(self, made: list[Change]) -> None:
        """A list from the same module takes the name in; a list that loses all names follows them."""
        rest: list[Want] = []
        for want in self._wants:
            at = self._list_from(want)
            if at is None:
                rest.append(want)
            else:
                self.add_piece(at, spell_name(want))
        self._wants = rest
        for at, statement in enumerate(self.layout.statements):
            mine = [want for want in self._wants if want.origin == at]
            specifiers = {want.specifier for want in self._wants if want.origin == at}
            is_whole = len(self._taken.get(at, ())) == len(statement.pieces) == len(mine) > 0
            if not is_whole or len(specifiers) != 1 or statement.has_more or self._added.get(at):
                continue
            del self._taken[at]
            self._retargeted[at] = specifiers.pop()
            self._wants = [want for want in self._wants if want.origin != at]
            for piece in statement.pieces:
                is_export = statement.kind == "export_list"
                local = piece.outside if is_export else piece.inside
                want = next(each for each in mine if each.local == local)
                if (piece.inside if is_export else piece.outside) != want.name:
                    spelled = ("type " if piece.is_type else "") + spell_name(want)
                    made.append((piece.start, piece.end, spelled))

    def _list_from(self, want: Want) -> int | None:
        if want.name in ("*",) or (want.name == "default" and want.form == "import"):
            return None
        for at, statement in enumerate(self.layout.statements):
            if (
                statement.kind == OF_FORM[want.form]
                and statement.braces is not None
                and statement.is_type == want.is_type
                and at not in self._removed
                and self.specifiers.get(at) == want.specifier
                and len(self._taken.get(at, ())) != len(statement.pieces)
            ):
                return at
        return None

    def _new_statements(self) -> list[str]:
        lines: list[str] = []
        grouped: dict[tuple[Form, str, bool], list[Want]] = {}
        for want in sorted(self._wants, key=lambda each: each.form == "export"):
            grouped.setdefault((want.form, want.specifier, want.is_type), []).append(want)
        for (form, specifier, is_type), wants in grouped.items():
            whole = ("*", "default") if form == "import" else ("*",)
            names = [want for want in wants if want.name not in whole]
            for want in wants:
                if want not in names:
                    lines.append(self._spell_whole(want))
            if names:
                lines.append(self._spell_list(form, specifier, is_type, names))
        return [*self._begun, *([""] if self._begun and lines else []), *lines]

    def _spell_whole(self, want: Want) -> str:
        is_plain = want.form == "require" or want.name == "default"
        shown = want.local if is_plain else f"* as {want.local}"
        return self._spell_taking(want.form, want.specifier, want.is_type, shown)

    def _spell_list(self, form: Form, specifier: str, is_type: bool, wants: Sequence[Want]) -> str:
        names = ", ".join(spell_name(want) for want in wants)
        shown = f"{{{self.style.blank}{names}{self.style.blank}}}"
        return self._spell_taking(form, specifier, is_type, shown)

    def _spell_taking(self, form: Form, specifier: str, is_type: bool, shown: str) -> str:
        style = self.style
        source = f"{style.quote}{specifier}{style.quote}"
        end = ";" if style.has_semicolons else ""
        if form == "require":
            return f"{style.keyword} {shown} = require({source}){end}"
        return f"{form}{' type' if is_type else ''} {shown} from {source}{end}"

    def _anchor(self) -> int | None:
        """The last of the imports at the beginning, else of the re-exports; None where the file has none."""
        reexports = [
            at
            for at, each in enumerate(self.layout.statements)
            if each.kind in ("export_list", "export_star") and each.module_span is not None
        ]
        if reexports and not any(each.kind == "import" for each in self.layout.statements):
            return reexports[-1]
        found: int | None = None
        for at, statement in enumerate(self.layout.statements):
            is_loading = statement.kind in ("import", "require") or (
                statement.kind == "variables"
                and b"require(" in self.text[statement.start : statement.end]
                and self.layout.runs_on_load(
                    statement.start + self.text[statement.start : statement.end].index(b"require(")
                )
            )
            if is_loading:
                found = at
            elif statement.kind not in ("directive", "hash_bang") and self._is_commonjs():
                break
        return found

    def _is_commonjs(self) -> bool:
        return not any(
            each.kind in ("import", "export_list", "export_star") or each.is_exported
            for each in self.layout.statements
        )

    def _insertion(self, anchor: int | None, lines: list[str], made: Sequence[Change]) -> Change:
        shown = self.eol.join(lines)
        if anchor is not None:
            return self._after(self.layout.statements[anchor], shown)
        starts = [each for each in self.layout.statements if each.kind in ("directive", "hash_bang")]
        if starts:
            at = starts[-1].tail
            blank = "" if re.match(rb"[ \t]*\r?\n[ \t]*(\r?\n|$)", self.text[at:]) else self.eol
            gap = self.eol if len(self.layout.statements) > len(starts) or self._appended else ""
            return at, at, self.eol + self.eol + shown + (blank if gap else "")
        rest = self.layout.statements
        at = rest[0].lead if rest else len(BYTE_ORDER_MARK) * self.text.startswith(BYTE_ORDER_MARK)
        if not rest:
            return at, at, shown + self.eol + (self.eol if self._appended and not self.text.strip() else "")
        if not self._appended and self._kept_end(made) <= at:
            return at, at, shown + self.eol
        return at, at, shown + self.eol + self.eol

    def _after(self, statement: Statement, shown: str) -> Change:
        at = statement.tail
        rest = self.text[at : self.text.find(b"\n", at) % (len(self.text) + 1)]
        if rest.strip():
            return at, at + (len(rest) - len(rest.lstrip(b" \t"))), self.eol + shown + self.eol
        return at, at, self.eol + shown

    def _ending(self, made: Sequence[Change]) -> Change:
        """Moved text stands at the end, one blank line below the rest, with the end that the file had."""
        shown = (self.eol + self.eol).join(self._appended)
        kept = self._kept_end(made)
        has_newline = self.text.endswith(b"\n") or not self.text.strip(BYTE_ORDER_MARK + b" \t\r\n")
        last = len(self.text)
        is_empty = not self.text[:kept].strip(BYTE_ORDER_MARK + b" \t\r\n")
        before = "" if is_empty else self.eol + self.eol
        start = kept if not is_empty else len(BYTE_ORDER_MARK) * self.text.startswith(BYTE_ORDER_MARK)
        if is_empty and any(end <= start and text for _, end, text in made):
            start = last if self.is_new else start
        return start, last, before + shown + (self.eol if has_newline else "")

    def _kept_end(self, made: Sequence[Change]) -> int:
        """Behind the last thing of the old text that stays."""
        end = len(self.text.rstrip())
        for start, stop, text in sorted(made, key=lambda each: each[1], reverse=True):
            if not text and start < end <= stop:
                end = len(self.text[:start].rstrip())
        return end

    def _as_edits(self, made: list[Change]) -> tuple[Edit, ...]:
        """Removed spans may overlap and become one; what is put in keeps its order."""
        spans: list[tuple[int, int]] = []
        for start, end in sorted((start, end) for start, end, _ in made if start != end):
            if spans and start < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        put: dict[tuple[int, int], list[tuple[int, str]]] = {span: [] for span in spans}
        for start, _, text in dict.fromkeys(made):
            span = next((each for each in spans if each[0] <= start < each[1]), (start, start))
            put.setdefault(span, []).append((start, text))
        return tuple(
            Edit(
                path=self.path,
                start=start,
                end=end,
                replacement="".join(text for _, text in sorted(put[start, end], key=lambda each: each[0])),
            )
            for start, end in sorted(put)
        )


def spell_name(want: Want) -> str:
    if want.name == want.local:
        return want.name
    return f"{want.name}: {want.local}" if want.form == "require" else f"{want.name} as {want.local}"


def _change_list(
    statement: Statement, taken: set[int], added: list[str], text: bytes, style: Style
) -> list[Change]:
    """Remove some names of a list together with their commas, and put others behind the last."""
    made: list[Change] = []
    pieces = statement.pieces
    kept = [at for at in range(len(pieces)) if at not in taken]
    assert statement.braces is not None, "only a list loses or gets names"
    if not kept:
        inner = (statement.braces.start + 1, statement.braces.end - 1)
        if statement.has_more and statement.kind == "import" and not added:
            return [(*_list_beside_default(statement, text), "")]
        if statement.kind == "exports_object" and statement.has_more:
            return _change_object(statement, taken, added, text)
        blank = style.blank if added else ""
        return [(*inner, f"{blank}{', '.join(added)}{blank}")]
    last = kept[-1]
    for at in sorted(taken):
        if at < last:
            made.append((pieces[at].start, pieces[at + 1].start, ""))
    if last + 1 < len(pieces):
        made.append((pieces[last].end, pieces[-1].end, ""))
    if added:
        made.append(_addition(pieces[last], statement, added, text))
    return made


def _change_object(statement: Statement, taken: set[int], added: list[str], text: bytes) -> list[Change]:
    """An object with other things than plain names in it: a comma goes with each name."""
    made: list[Change] = []
    assert statement.braces is not None, "an object has braces"
    for at in sorted(taken):
        start, end = statement.pieces[at].start, statement.pieces[at].end
        comma = re.match(rb"\s*,[ \t]*(\r?\n[ \t]*)?", text[end : statement.braces.end])
        if comma is not None:
            made.append((start, end + comma.end(), ""))
        else:
            before = text[statement.braces.start : start].rstrip().rstrip(b",")
            made.append((statement.braces.start + len(before), end, ""))
    if added:
        at = statement.braces.start + 1
        made.append((at, at, " " + ", ".join(added) + ","))
    return made


def _list_beside_default(statement: Statement, text: bytes) -> tuple[int, int]:
    assert statement.braces is not None, "the list has braces"
    comma = text.rindex(b",", statement.start, statement.braces.start)
    return comma, statement.braces.end


def _addition(last: Piece, statement: Statement, added: list[str], text: bytes) -> Change:
    line = text.rfind(b"\n", 0, last.start) + 1
    before = text[line : last.start]
    is_own_line = not before.strip() and statement.braces is not None and statement.braces.start < line
    eol = "\r\n" if is_own_line and text[line - 2 : line] == b"\r\n" else "\n"
    gap = "," + eol + before.decode() if is_own_line else ", "
    return last.end, last.end, "".join(gap + each for each in added)


def removal(text: bytes, start: int, end: int) -> tuple[int, int]:
    """The span that goes away with a statement: its lines, and the blank lines that it no longer needs."""
    line = text.rfind(b"\n", 0, start) + 1
    newline = text.find(b"\n", end)
    last = len(text) if newline == -1 else newline + 1
    has_before = bool(text[line:start].strip(BYTE_ORDER_MARK + b" \t"))
    has_after = bool(text[end:last].strip())
    if has_before or has_after:
        if has_after:
            return start, end + len(text[end:last]) - len(text[end:last].lstrip(b" \t"))
        return line + len(text[line:start].rstrip(b" \t")), end
    if line == 0 and text.startswith(BYTE_ORDER_MARK):
        line = len(BYTE_ORDER_MARK)
    after = re.match(rb"(?:[ \t]*\r?\n)*(?:[ \t]+$)?", text[last:])
    behind = last + (after.end() if after is not None else 0)
    if behind >= len(text):
        kept = text[:line].rstrip(b" \t\r\n")
        if len(kept) <= len(BYTE_ORDER_MARK) and not kept.strip(BYTE_ORDER_MARK):
            return len(kept), len(text)
        if text.endswith(b"\n"):
            found = re.match(rb"[ \t]*\r?\n", text[len(kept) :])
            return len(kept) + (found.end() if found is not None else 0), len(text)
        return len(kept), len(text)
    before = text[:line].strip(BYTE_ORDER_MARK + b" \t\r\n")
    is_after_blank = not before or before.endswith(b"{") or re.search(rb"\n[ \t]*\r?\n\Z", text[:line])
    return line, behind if is_after_blank else last


def read_style(layout: Layout, text: bytes, like: Style | None) -> Style:
    """As the file's own imports are written, else as another file's."""
    taking = [each for each in layout.statements if each.module_span is not None]
    ended = [each for each in layout.statements if each.kind not in ("declaration", "hash_bang")]
    made = like or Style()
    if taking:
        first = taking[-1]
        assert first.module_span is not None, "chosen so"
        quote = text[first.module_span.start - 1 : first.module_span.start].decode()
        made = msgspec.structs.replace(made, quote=quote, has_semicolons=first.has_semicolon)
        required = [each.keyword for each in taking if each.kind == "require" and each.keyword]
        if required:
            made = msgspec.structs.replace(made, keyword=required[-1])
    elif ended:
        count = sum(each.has_semicolon for each in ended)
        made = msgspec.structs.replace(made, has_semicolons=2 * count >= len(ended))
    for each in layout.statements:
        if each.braces is not None and each.pieces and each.module_span is not None:
            is_tight = text[each.braces.start + 1 : each.braces.start + 2] not in b" \n\r\t"
            return msgspec.structs.replace(made, blank="" if is_tight else " ")
    return made
