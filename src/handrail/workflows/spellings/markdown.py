"""Workflows in Markdown: front matter, a heading for each step, and the fences `step` and `prompt`. Pure.

Everything else is text, and reaches the agent as it stands.
"""

from __future__ import annotations

import re
from json import dumps

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_clearly_nearest, find_same_word
from handrail.contract.wording import quote
from handrail.workflows.limits import MAX_PROBLEMS, MAX_YAML_BYTES
from handrail.workflows.problem import NO_EDIT, Edit, Problem, rewrite_text
from handrail.workflows.spellings.decoded import RULE, Comment, Decoded, Place, report
from handrail.workflows.spellings.markdown_text import (
    BLOCKS,
    FENCE,
    HEADING,
    KEY,
    KEYS_OF_PARTS,
    KEYS_OF_STEPS,
    Line,
    Misplaced,
    begins_part,
    closing_of,
    closing_of_html,
    count_keys,
    find_block,
    find_lost_heading,
    find_other_id,
    find_yaml_end,
    is_construct,
    join_items,
    join_lines,
    meant_fence,
    read_items,
    read_link,
    read_part,
    split_title,
    trim_blank,
)
from handrail.workflows.spellings.strict_yaml import decode_yaml

_STEP_LEVEL = 2
_UNKNOWN = "?"
"""Stands for a block that was reported; its text is not read."""
_OF_DATA = ("", "yaml", "yml")
_OF_LOOPS = ("forEach", "while", "until", "count", "maxIterations")
"""Keys of loops alone: a part with one of them has a body, whatever its type says."""
_TEXT_FIX = "Text that has headings of its own stands in a fence `prompt`."


def decode_markdown(text: str) -> Decoded:
    """The document of a Markdown workflow, or everything that is wrong with its form."""
    lines = [Line(number, line) for number, line in enumerate(text.split("\n"), 1)]
    end = next((at for at, line in enumerate(lines) if at and line.text.rstrip() == RULE), 0)
    if lines[0].text.rstrip() != RULE or not end:
        return Decoded(problems=(_no_front(lines),))
    front = decode_yaml(join_lines(lines[1:end]) + "\n", first_line=2)
    reading = _MarkdownReading(front, lines[: end + 1])
    reading.read(lines[end + 1 :])
    return reading.finish(end + 1)


def _no_front(lines: list[Line]) -> Problem:
    """A page that does not begin as one, or whose keys go on into its steps."""
    first = next((at for at, line in enumerate(lines) if begins_part(line.text)), 0)
    last = find_yaml_end(lines[1:first]) if lines[0].text.rstrip() == RULE else 0
    if last:
        edit = rewrite_text(last + 2, 1, 0, f"{RULE}\n")
        return report(
            (1, 1), "The front matter is not closed.", f"Write a line {RULE} before the steps.", edit
        )
    fix = "Begin with a line ---, then the keys of the workflow such as `id: project.my_check`, then ---."
    return report((1, 1), "The file has no front matter.", fix)


class _MarkdownPart:
    """A step, choice, action, call or loop while it is read."""

    def __init__(self, level: int, pointer: str, place: Place, end: int) -> None:
        self.level = level
        self.end = end
        """The column behind its title."""
        self.pointer = pointer
        self.place = place
        self.document: dict[str, Json] = {}
        self.has_fence = False
        self.texts: dict[str, _MarkdownText] = {}
        """By the key of the block; the empty key is the text before the first block."""
        self.current = ""
        self.body: list[_MarkdownPart] = []

    @property
    def is_loop(self) -> bool:
        return self.document.get("type") == "loop" or not self.document.keys().isdisjoint(_OF_LOOPS)


def _is_empty(part: _MarkdownPart) -> bool:
    """Whether nothing but its keys was read of it so far."""
    return not part.current and not any(map(_is_there, part.texts.values()))


class _MarkdownText:
    """The text of a prompt or a block: plain lines, or one fence `prompt`."""

    def __init__(self, place: Place) -> None:
        self.heading = place
        self.lines: list[Line] = []
        self.fence: str | None = None
        self.fence_line = 0


class _MarkdownReading:
    """A Markdown file while it is read."""

    def __init__(self, front: Decoded, written: list[Line]) -> None:
        self._front = written
        self._early: list[Line] = []
        """What stands before the first step."""
        self.problems = list(front.problems)
        self.document: dict[str, Json] = dict(front.document) if isinstance(front.document, dict) else {}
        self.values = {**front.values, "": (1, 1)}
        self.keys = dict(front.keys)
        self.comments = dict(front.comments)
        self._yaml_left = MAX_YAML_BYTES
        self._parts: list[_MarkdownPart] = []
        self._open: list[_MarkdownPart] = []
        self._ids: set[str] = set()
        if not front.problems and not isinstance(front.document, dict):
            self._report((2, 1), "The front matter is no mapping.", "Write keys with their values.")
        if "steps" in self.document:
            place = front.keys["/steps"]
            fix = "Write each step as a heading `## Title {#step_id}` with its text below it."
            self._report(place, "Steps do not stand in the front matter.", fix)

    def read(self, lines: list[Line]) -> None:
        at = 0
        while at < len(lines) and len(self.problems) < MAX_PROBLEMS:
            line = lines[at]
            words = line.text.rstrip("\r")
            fence = FENCE.fullmatch(words)
            if fence is not None:
                at = self._fence(lines, at, fence)
                continue
            after = lines[at + 1].text.rstrip("\r") if at + 1 < len(lines) else ""
            heading = HEADING.fullmatch(words)
            if heading is not None:
                below = next((one.text for one in lines[at + 1 :] if one.text.strip()), "")
                self._heading(line.number, len(heading[1]), heading[2] or "", heading.start(2), below)
            elif (lost := find_lost_heading(words, after)) is not None:
                at += lost.is_underlined
                length = len(line.text) + lost.is_underlined * (1 + len(after))
                # In a loop it may be a step of the body or one behind it.
                is_sure = not (lost.is_underlined and any(part.is_loop for part in self._open))
                edit = rewrite_text(line.number, 1, length, lost.written) if is_sure else NO_EDIT
                self._report((line.number, 1), lost.message, lost.fix, edit)
            elif (closing := closing_of_html(words)) is not None:
                at = self._html(lines, at, closing)
                continue
            elif (count := self._count_bare_keys(lines, at)) > 0:
                self._bare_keys(lines[at : at + count])
                at += count - 1
            else:
                self._text_line(Line(line.number, words))
            at += 1

    def _count_bare_keys(self, lines: list[Line], at: int) -> int:
        """How many lines below a heading are keys of the step that stand in no fence."""
        part = self._open[-1] if self._open else None
        if part is None or part.has_fence or not _is_empty(part):
            return 0
        return count_keys([line.text.rstrip() for line in lines[at : at + 200]])

    def _bare_keys(self, lines: list[Line]) -> None:
        """Keys without their fence are read as what was meant, so that no other problem follows."""
        first, last = lines[0].number, lines[-1].number
        edit = (*rewrite_text(last + 1, 1, 0, "```\n"), *rewrite_text(first, 1, 0, "```step\n"))
        fix = "Write a line ```step before them and a line ``` after them; text of the agent stands below."
        self._report((first, 1), "These are keys of a step, and would be its text.", fix, edit)
        self._step_fence(first - 1, lines)

    def _html(self, lines: list[Line], at: int, closing: re.Pattern[str]) -> int:
        """Read what a page shows as no Markdown; where reading goes on."""
        ends = (n for n in range(at + 1, len(lines)) if closing.fullmatch(lines[n].text.rstrip("\r")))
        end = next(ends, at)
        if end == at:
            place = (lines[at].number, 1)
            self._report(place, "This HTML is not closed.", "Close it before the next heading.")
        for line in lines[at : end + 1]:
            words = line.text.rstrip("\r")
            if is_construct(words):
                fix = f"Move it out of the HTML, or remove it. {_TEXT_FIX}"
                self._report((line.number, 1), "This stands inside HTML, where no page shows it.", fix)
            else:
                self._text_line(Line(line.number, words))
        return end + 1

    def _heading(self, number: int, level: int, words: str, column: int, below: str) -> None:
        title, part_id = split_title(words)
        place = (number, 1)
        while self._open and self._open[-1].level >= level:
            self._open.pop()
        holder = self._open[-1] if self._open else None
        wanted = _STEP_LEVEL if holder is None else holder.level + 1
        if level != wanted:
            is_step = part_id is not None and holder is not None and not holder.is_loop
            wanted = holder.level if is_step and holder is not None else wanted
            message = f"A heading of level {level} cannot stand here."
            # A step inside a loop may end there, and the next one may stand behind the loop.
            is_sure = is_step and wanted == _STEP_LEVEL
            is_block = title in BLOCKS and holder is not None and not holder.is_loop
            edit = rewrite_text(number, 1, level, "#" * wanted) if is_sure or is_block else NO_EDIT
            fix = f"Write {'#' * wanted}. {_TEXT_FIX}"
            if level < _STEP_LEVEL and not self._parts and title == self.document.get("name"):
                fix = "Remove it: the name stands in the front matter."
                edit = rewrite_text(number, 1, column + len(words), "")
            elif level < _STEP_LEVEL and not self._parts and part_id is None and title:
                # It is for readers of the page: the agent reads no more of it than before.
                kept = (
                    f"# {title}" if "name" in self.document else f"name: {dumps(title, ensure_ascii=False)}"
                )
                fix = (
                    f"Keep it in the front matter as `{kept}`, or write `## {title} {{#step_id}}` for a step."
                )
                edit = (
                    *rewrite_text(number, 1, column + len(words), ""),
                    *rewrite_text(len(self._front), 1, 0, f"{kept}\n"),
                )
            self._report(place, message, fix, edit)
            return
        if holder is None or holder.is_loop:
            self._part(holder, level, place, words, column)
        elif part_id is not None:
            message = f"{quote(part_id)} stands inside a step that is no loop."
            fix = f"Write {'#' * holder.level} for a step, or `type: loop` in the fence `step` above it."
            self._report(place, message, fix)
        elif find_same_word(title.strip(" :*_"), ("Goal",)) and _is_empty(holder):
            fix = "Remove it: the text before the first block is the goal."
            edit = rewrite_text(number, 1, column + len(words), "")
            self._report(place, f"{quote(title)} has no heading of its own.", fix, edit)
        elif title not in BLOCKS:
            sure = find_same_word(title.strip(" :*_#"), BLOCKS) or find_block(title, below)
            near = sure or find_clearly_nearest(title, BLOCKS)
            known = ", ".join(BLOCKS)
            fix = f"Did you mean {near}?" if near else f"Block headings are {known}. {_TEXT_FIX}"
            edit = rewrite_text(number, column + 1, len(words), sure) if sure else NO_EDIT
            self._report(place, f"{quote(title)} is no block of a prompt.", fix, edit)
            holder.current = _UNKNOWN
        elif BLOCKS[title] in holder.texts:
            self._report(place, f"{title} is there twice in this step.", "Put both together.")
        else:
            holder.current = BLOCKS[title]
            holder.texts[holder.current] = _MarkdownText(place)

    def _part(self, holder: _MarkdownPart | None, level: int, place: Place, words: str, column: int) -> None:
        title, part_id = split_title(words)
        beside = self._parts if holder is None else holder.body
        base = "/steps" if holder is None else f"{holder.pointer}/body"
        if not beside:
            self.values[base] = self.keys[base] = place
        part = _MarkdownPart(level, f"{base}/{len(beside)}", place, column + len(words) + 1)
        self.values[part.pointer] = self.keys[part.pointer] = place
        if part_id is not None:
            part.document["id"] = part_id
            self._ids.add(part_id)
            self._mark(part.pointer, "id", (place[0], column + 1 + words.rindex("{#")))
        if title:
            part.document["title"] = title
            self._mark(part.pointer, "title", (place[0], column + 1))
        beside.append(part)
        self._open.append(part)

    def _mark(self, pointer: str, key: str, place: Place) -> None:
        inner = join_pointer(pointer, key)
        self.values[inner] = self.keys[inner] = place

    def _fence(self, lines: list[Line], at: int, fence: re.Match[str]) -> int:
        """Read a fence; where reading goes on."""
        start, place = lines[at], (lines[at].number, 1)
        closing = closing_of(fence[2])
        end, is_step = at + 1, fence[3] == "step" and not fence[1]
        while end < len(lines) and closing.fullmatch(lines[end].text.rstrip("\r")) is None:
            if is_step and begins_part(lines[end].text):
                break
            end += 1
        if end == len(lines) or closing.fullmatch(lines[end].text.rstrip("\r")) is None:
            last = find_yaml_end(lines[at + 1 : end]) if is_step else 0
            has_room = 0 < last < len(lines) - at - 1
            edit = rewrite_text(start.number + last + 1, 1, 0, f"{fence[2]}\n") if has_room else NO_EDIT
            after = lines[at + 1 + last].text.rstrip() if has_room else ""
            if FENCE.fullmatch(after) and not after.strip("`~"):  # it was closed with another mark
                edit = rewrite_text(start.number + last + 1, 1, len(after), fence[2])
                end = at + last + 2
            fix = f"Close it with a line {fence[2]}."
            self._report(place, "This fence is not closed.", fix, edit)
            return end
        if not (meant := meant_fence(fence[3])) and self._is_meant_as_keys(lines[at + 1 : end], fence[3]):
            edit = rewrite_text(start.number, 1, len(start.text), f"{fence[2]}step")
            fix = f"Write {fence[2]}step; what the agent is to read as it stands comes after a sentence."
            self._report(place, "These are keys of a step, and would be its text.", fix, edit)
        elif not meant:
            for line in lines[at : end + 1]:
                self._text_line(Line(line.number, line.text.rstrip("\r")))
        elif fence[3] not in ("step", "prompt") or fence[1]:
            fix = f"Write {fence[2]}{meant} at the beginning of the line, and nothing after it."
            is_word = " " not in fence[3]  # words after it may have been meant as something
            edit = rewrite_text(start.number, 1, len(start.text), fence[2] + meant) if is_word else NO_EDIT
            self._report(place, f"{quote(start.text.strip())} is no fence of a workflow.", fix, edit)
        elif not self._open:
            self._report(place, "This fence belongs to no step.", "Put it below a step's heading.")
        elif fence[3] == "step":
            self._step_fence(start.number, lines[at + 1 : end])
        else:
            self._prompt_fence(start.number, lines[at + 1 : end])
        return end + 1

    def _is_meant_as_keys(self, lines: list[Line], info: str) -> bool:
        """Whether a fence right below a heading holds what only a fence `step` can mean."""
        part = self._open[-1] if self._open else None
        if part is None or part.has_fence or any(map(_is_there, part.texts.values())) or info not in _OF_DATA:
            return False
        keys = [found[1] for line in lines if (found := KEY.match(line.text)) is not None]
        is_all = all(KEY.match(line.text) or line.text[:1] in ("", " ", "#", "-") for line in lines)
        return is_all and any(key in KEYS_OF_STEPS for key in keys) and set(keys) <= KEYS_OF_PARTS

    def _step_fence(self, number: int, lines: list[Line]) -> None:
        part = self._open[-1]
        if part.has_fence:
            self._report((number, 1), "This is the second fence `step` of this step.", "Put both together.")
            return
        part.has_fence = True
        content = join_lines(lines) + "\n"
        self._yaml_left -= len(content.encode("utf-8", "surrogatepass"))
        if self._yaml_left < 0:
            fix = "Split the workflow, or move long texts into the documents that it refers to."
            self._report((number, 1), f"More than {MAX_YAML_BYTES} bytes of YAML.", fix)
            return
        decoded = decode_yaml(content, first_line=number + 1)
        self.problems += decoded.problems
        for pointer, comment in decoded.comments.items():
            self.comments[part.pointer + pointer] = comment
        if decoded.problems or decoded.document is None:
            return
        if not isinstance(decoded.document, dict):
            self._report((number, 1), "This fence `step` is no mapping.", "Write keys with their values.")
            return
        for key, value in decoded.document.items():
            if key in part.document or key == "prompt":
                fix = "Write the prompt as text." if key == "prompt" else "Write it in the heading only."
                place = decoded.keys[join_pointer("", key)]
                line = lines[place[0] - number - 1]
                is_same = part.document.get(key) == value and place[1] == 1
                edit = rewrite_text(place[0], 1, len(line.text) + 1, "") if is_same else NO_EDIT
                if isinstance(value, str) and key != "prompt" and place[1] == 1 and not is_same:
                    fix = f"{fix} As a comment it stays for whoever reads the page."
                    edit = rewrite_text(*place, 0, "# ") if value in line.text else NO_EDIT
                self._report(place, f"{key} does not stand in a fence `step`.", fix, edit)
            else:
                part.document[key] = value
        self.values.update({part.pointer + name: place for name, place in decoded.values.items() if name})
        self.keys.update({part.pointer + name: place for name, place in decoded.keys.items()})

    def _prompt_fence(self, number: int, lines: list[Line]) -> None:
        held = self._text_of(number)
        if held.fence is not None:
            self._report((number, 1), "This is the second fence `prompt` in one place.", "Put both together.")
            return
        held.fence, held.fence_line = join_lines(lines), number

    def _text_line(self, line: Line) -> None:
        if self._open:
            self._text_of(line.number).lines.append(line)
        elif not self._parts and (self._early or line.text.strip()):
            self._early.append(line)

    def _report_early(self) -> None:
        """Text before the first step: said with every step, it is lost in none."""
        lines = trim_blank(self._early)
        if not lines:
            return
        first, text = lines[0].number, join_lines(lines)
        fix = "Write it under guidance if every step is to say it, under about if it is for people."
        is_whole = lines[-1].number - first + 1 == len(lines) and not self.problems
        kept = self._as_guidance(dumps(text, ensure_ascii=False)) if is_whole else NO_EDIT
        edit = (*rewrite_text(first, 1, len(text), ""), *kept) if kept else NO_EDIT
        self.problems.append(report((first, 1), "This text belongs to no step.", fix, edit))

    def _as_guidance(self, text: str) -> Edit:
        """One more rule in the front matter."""
        place = self.values.get("/guidance")
        if place is None:
            return rewrite_text(len(self._front), 1, 0, f"guidance: [{text}]\n")
        line, column = place
        match self._front[line - 1].text[column - 1 : column]:
            case "[":
                return rewrite_text(line, column + 1, 0, f"{text}, ")
            case "-":
                return rewrite_text(line, column, 0, f"- {text}\n{' ' * (column - 1)}")
            case _:
                return NO_EDIT

    def _text_of(self, number: int) -> _MarkdownText:
        part = self._open[-1]
        return part.texts.setdefault(part.current, _MarkdownText((number, 1)))

    def finish(self, last_line: int) -> Decoded:
        self._report_early()
        self.document["steps"] = [self._finish_part(part) for part in self._parts]
        self.values.setdefault("/steps", (last_line, 1))
        if self.problems:
            ordered = sorted(self.problems, key=lambda problem: (problem.line, problem.column))
            return Decoded(problems=tuple(ordered), values=self.values, keys=self.keys)
        return Decoded(document=self.document, values=self.values, keys=self.keys, comments=self.comments)

    def _finish_part(self, part: _MarkdownPart) -> Json:
        self._open = [part]
        is_call = part.document.get("type") == "template_call"
        is_slot = any(find_same_word(key, ("slot",)) for key in part.document)
        if not is_call and not is_slot and not part.document.keys() & {"id", "loopId"}:
            fix, edit = self._find_id(part)
            self._report(part.place, "This heading has no id.", fix, edit)
        if part.body:
            if "body" in part.document:
                place = self.keys[f"{part.pointer}/body"]
                self._report(place, "The body is there twice.", "Write it as deeper headings only.")
            part.document["body"] = [self._finish_part(one) for one in part.body]
            self._open = [part]
        self._finish_texts(part)
        return part.document

    def _find_id(self, part: _MarkdownPart) -> tuple[str, Edit]:
        """How to write the id of a heading that has none, and the edit if it is certain."""
        title = str(part.document.get("title") or "Title")
        other = find_other_id(title)
        if other is not None:
            own, rest, is_sure = other
            whole = f"{'#' * part.level} {rest} {{#{own}}}"
            edit = rewrite_text(part.place[0], 1, part.end - 1, whole) if is_sure else NO_EDIT
            return f"Write `{whole}`.", edit
        block = find_same_word(title.strip(" :*_#"), BLOCKS)
        if block and not part.pointer.endswith("/0") and not part.has_fence:
            deeper = f"{'#' * (part.level + 1)} {block}"
            fix = f"Write `{deeper}`: a block is one level deeper than its step."
            return fix, rewrite_text(part.place[0], 1, part.end - 1, deeper)
        own = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_") or "step_id"
        fix = f"Write `{'#' * part.level} {title} {{#{own}}}`. {_TEXT_FIX}"
        # Without a fence it may be a heading of the text itself.
        is_sure = part.has_fence and own != "step_id" and own not in self._ids
        return fix, rewrite_text(part.place[0], part.end, 0, f" {{#{own}}}") if is_sure else NO_EDIT

    def _finish_texts(self, part: _MarkdownPart) -> None:
        texts = {key: held for key, held in part.texts.items() if key or _is_there(held)}
        texts.pop(_UNKNOWN, None)
        if not texts:
            return
        if "promptBlocks" in part.document:
            place = self.keys[f"{part.pointer}/promptBlocks"]
            self._report(place, "The prompt is there twice.", "Write it as text only, or in the fence only.")
        elif list(texts) == [""]:
            value, number = self._whole_text(texts[""])
            part.document["prompt"] = value
            self._mark(part.pointer, "prompt", (number, 1))
        else:
            pointer = f"{part.pointer}/promptBlocks"
            self._mark(part.pointer, "promptBlocks", next(iter(texts.values())).heading)
            part.document["promptBlocks"] = {
                key or "goal": self._block(join_pointer(pointer, key or "goal"), key, held)
                for key, held in texts.items()
            }

    def _block(self, pointer: str, key: str, held: _MarkdownText) -> Json:
        self.keys[pointer] = held.heading
        text, number = self._whole_text(held)
        self.values[pointer] = (number, 1)
        items = None if held.fence is not None else read_items(key, trim_blank(held.lines))
        if isinstance(items, Misplaced):
            self._report((items.number, 1), items.message, items.fix)
            return text
        if items is not None:
            for name, item in items:
                self._mark(pointer, name, (item.number, 1))
                self._note_link(join_pointer(pointer, name), item.link)
            return join_items(key, items)
        if key == "outputRequired":
            self._report(held.heading, "Deliver has no list.", "Write `- name: what it must hold`.")
        elif not text and held.fence is None:
            self._report(held.heading, "This block has no text.", "Write it, or remove the heading.")
        if held.fence is not None:
            return text
        self._note_link(pointer, read_link(text))
        return read_part(text)

    def _note_link(self, pointer: str, words: str) -> None:
        """The words of a link are for readers: other spellings have them as a comment."""
        if words:
            self.comments[pointer] = Comment(before=(f" [{words}]",))

    def _whole_text(self, held: _MarkdownText) -> tuple[str, int]:
        """The text, and the line at which it begins."""
        plain = trim_blank(held.lines)
        if held.fence is None:
            return join_lines(plain), plain[0].number if plain else held.heading[0]
        if plain:
            message = "This text stands beside a fence `prompt`."
            self._report((plain[0].number, 1), message, "Put all of it into the fence, or none of it.")
        return held.fence, held.fence_line + 1

    def _report(self, place: Place, message: str, fix: str, edit: Edit = NO_EDIT) -> None:
        self.problems.append(report(place, message, fix, edit))


def _is_there(held: _MarkdownText) -> bool:
    return held.fence is not None or any(line.text.strip() for line in held.lines)
