"""Draws which share of the answers is bad against how many questions get one, as plain SVG."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT, LEFT, TOP, SIDE = 520, 340, 64, 24, 440
TALL, MOST = 250, 0.5


def draw_curve(points: Sequence[tuple[float, float, float]], *, risk: float, bad: str, command: str) -> str:
    """`points` are (threshold, share of the answers that is `bad`, share of the answerable answered)."""
    path = " ".join(f"{_x(answered):.1f},{_y(beyond):.1f}" for _, beyond, answered in points if answered > 0)
    limit, beyond, answered = next((p for p in points if p[1] <= risk), points[-1])
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12" role="img" aria-label="Risk against coverage of the offline answerer">',
        f"<desc>Made by: {command}</desc>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        *(_across(n / 10) for n in range(6)),
        *(_down(n / 5) for n in range(6)),
        f'<polyline points="{path}" fill="none" stroke="#1f5fa8" stroke-width="2"/>',
        f'<circle cx="{_x(answered):.1f}" cy="{_y(beyond):.1f}" r="4" fill="#b3261e"/>',
        f'<text x="{_x(answered) - 8:.1f}" y="{_y(beyond) - 10:.1f}" text-anchor="end" fill="#b3261e">'
        f"threshold {limit:.2f}: {answered:.0%} answered</text>",
        f'<text x="{LEFT + SIDE / 2}" y="{TOP + TALL + 44}" text-anchor="middle">'
        "share of the answerable questions that get an answer</text>",
        f'<text transform="translate(16 {TOP + TALL / 2}) rotate(-90)" text-anchor="middle">'
        f"share of the answers {bad}</text>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _x(answered: float) -> float:
    return LEFT + SIDE * answered


def _y(beyond: float) -> float:
    return TOP + TALL * (1 - beyond / MOST)


def _across(share: float) -> str:
    y = _y(share)
    return (
        f'<path d="M{LEFT} {y:.1f}h{SIDE}" stroke="#ddd"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>'
    )


def _down(share: float) -> str:
    x = _x(share)
    return (
        f'<path d="M{x:.1f} {TOP}v{TALL}" stroke="#ddd"/>'
        f'<text x="{x:.1f}" y="{TOP + TALL + 18}" text-anchor="middle">{share:.0%}</text>'
    )
