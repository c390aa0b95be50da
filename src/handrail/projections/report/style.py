"""How the report page looks: one sheet, light and dark by system, from 320 pixels up to paper. Pure."""

from __future__ import annotations

CSS = """
:root{color-scheme:light dark;--paper:#fbfaf7;--card:#fff;--ink:#1f2328;--soft:#5b626b;--line:#d9d6cf;
--rail:#2f6f5e;--good:#1d6b4f;--busy:#1f5fa8;--bad:#a62b2b;--warn:#805300;--goodb:#e3f3ec;--busyb:#e4eefa;
--badb:#fbe7e6;--warnb:#faf0d8}
@media(prefers-color-scheme:dark){:root{--paper:#15181b;--card:#1d2125;--ink:#e7e9ea;--soft:#a3abb3;
--line:#343a40;--rail:#6fc3aa;--good:#7fd3b0;--busy:#8fbcf2;--bad:#f0a29d;--warn:#e6c276;--goodb:#17322a;
--busyb:#172a40;--badb:#3d1f1e;--warnb:#362c14}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif;
overflow-wrap:anywhere}
main{max-width:54rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem;text-wrap:balance}
h2{font-size:1.3rem;margin:2.5rem 0 .25rem}h3{font-size:1.05rem;margin:1.75rem 0 .5rem}
p{margin:.4rem 0}a{color:var(--busy)}
.over{color:var(--soft);font-size:.85rem;margin:0 0 .35rem;letter-spacing:.02em}
.pill{display:inline-block;padding:.1rem .65rem;border-radius:1rem;font-size:.85rem;font-weight:600;
background:var(--busyb);color:var(--busy)}
.pill.complete{background:var(--goodb);color:var(--good)}
.pill.complete_with_gaps{background:var(--warnb);color:var(--warn)}
.pill.closed{background:var(--line);color:var(--soft)}
.pill.blocked{background:var(--badb);color:var(--bad)}
.banner{border-left:.3rem solid var(--busy);background:var(--busyb);padding:.7rem 1rem;margin:1rem 0;
border-radius:.3rem}
.banner.alarm{border-color:var(--bad);background:var(--badb)}
.way{list-style:none;margin:0;padding:0 0 0 1.6rem;position:relative}
.way::before{content:"";position:absolute;left:.5rem;top:.8rem;bottom:.8rem;width:2px;background:var(--line)}
.moment{position:relative;background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:.75rem 1rem;margin:.7rem 0}
.moment::before{content:"";position:absolute;left:-1.55rem;top:1.05rem;width:.85rem;height:.85rem;
border-radius:50%;background:var(--card);border:2px solid var(--rail)}
.moment.checkpoint::before{border-radius:.1rem}
.moment.blocked_attempt::before{border-radius:0;border-color:var(--bad);background:var(--bad);
clip-path:polygon(50% 0,100% 100%,0 100%)}
.moment.last::before{background:var(--rail)}
.moment h4{font-size:1rem;margin:0}
.small{color:var(--soft);font-size:.8rem;margin:.1rem 0 .4rem}
.facts{margin:.4rem 0;padding-left:1.1rem}.facts li{margin:.15rem 0}
.gap{color:var(--warn)}.stop{color:var(--bad)}
.notes{border-top:1px solid var(--line);margin-top:.6rem;padding-top:.3rem;unicode-bidi:isolate}
.notes.long{max-height:24rem;overflow-y:auto}
.notes>*:first-child{margin-top:.3rem}
pre,code{font-family:ui-monospace,monospace;font-size:.85em}
pre{background:var(--paper);border:1px solid var(--line);border-radius:.4rem;padding:.7rem;overflow-x:auto;
white-space:pre-wrap}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top}
blockquote{margin:.5rem 0;padding-left:.9rem;border-left:3px solid var(--line);color:var(--soft)}
details{margin:.5rem 0}
summary{cursor:pointer;color:var(--soft);font-size:.9rem;padding:.2rem 0}
summary:focus-visible,.long:focus-visible,a:focus-visible{outline:2px solid var(--busy);
outline-offset:2px;border-radius:.2rem}
.aside-way{border-left:2px dashed var(--line);padding-left:.9rem;margin:.4rem 0}
.map{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:.5rem;margin:0}
.rail{display:block}
.rail .way{fill:none;stroke:var(--rail);stroke-width:2}
.rail .mark{fill:var(--card);stroke:var(--rail);stroke-width:2}
.rail .mark.tip{fill:var(--rail)}
.rail .way.aside,.rail .mark.aside{stroke:var(--soft);stroke-dasharray:3 2}
.rail .mark.blocked{stroke:var(--bad)}
.rail text{font:13px system-ui,sans-serif;fill:var(--ink)}
.rail text.aside{fill:var(--soft)}.rail text.now{font-weight:700}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}
dt{color:var(--soft)}dd{margin:0}
footer{margin-top:3rem;border-top:1px solid var(--line);padding-top:.8rem;color:var(--soft);font-size:.85rem}
@media(max-width:30rem){main{padding:1.25rem .8rem 3rem}h1{font-size:1.4rem}
dl{grid-template-columns:1fr;gap:0}
dd{margin-bottom:.5rem}.way{padding-left:1.35rem}.moment{padding:.6rem .75rem}.moment::before{left:-1.35rem}
.way::before{left:.42rem}}
@media print{body{background:#fff;color:#000}.moment{break-inside:avoid}}
"""
