"""A bar chart as one self-contained SVG that reads on light and on dark paper.

Only integers are written and no font is measured, so the same values give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.sax.saxutils import escape

_WIDTH, _LEFT, _RIGHT = 760, 300, 90
_ROW, _BAR, _TOP = 26, 16, 56
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}"
    ".small{font-size:11px;fill:#57606a}.paper{fill:#fff}.grid{stroke:#d0d7de}"
    ".reference{fill:#8c959f}.ours{fill:#0969da}.peer{fill:#bf8700}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.paper{fill:#0d1117}"
    ".grid{stroke:#30363d}.reference{fill:#656c76}.ours{fill:#4493f8}.peer{fill:#d29922}}"
)


def bar_chart(title: str, note: str, values: Mapping[str, float], kinds: Mapping[str, str], unit: str) -> str:
    """One bar per value on a logarithmic scale that begins at 1; `kinds` is reference, ours or peer."""
    bottom = _TOP + _ROW * len(values)
    height = bottom + 34
    most = max([10.0, *values.values()])
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
        f'<text class="title" x="16" y="24">{escape(title)}</text>',
        f'<text class="small" x="16" y="42">{escape(note)}</text>',
    ]
    for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if tick <= most:
            x = _place(tick, most)
            lines.append(f'<line class="grid" x1="{x}" y1="{_TOP - 4}" x2="{x}" y2="{bottom}"/>')
            lines.append(
                f'<text class="small" x="{x}" y="{bottom + 18}" text-anchor="middle">{tick}{unit}</text>'
            )
    for row, (name, value) in enumerate(values.items()):
        y = _TOP + row * _ROW
        end = max(_place(max(value, 1.0), most), _LEFT + 2)
        lines += [
            f'<text x="{_LEFT - 10}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{kinds[name]}" x="{_LEFT}" y="{y}" width="{end - _LEFT}" height="{_BAR}" rx="2"/>',
            f'<text class="small" x="{end + 6}" y="{y + 12}">{value:.2g}{unit}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _place(value: float, most: float) -> int:
    return _LEFT + round((_WIDTH - _LEFT - _RIGHT) * math.log(value) / math.log(most))
