"""Decides which candidates the readers read, when they have read enough, and in what order they come out.

Candidates are read in the order of the first stage, a batch at a time. Reading stops when no unread candidate
can come first any more. That is certain, because a fit counts for `most_fit` at most, so the best total that
an unread candidate could reach is known from its first-stage score. Of one section only a few are read,
unless they are far ahead of what the other sections still have. The order depends on the reader's scores and
on the first-stage score, because a reader alone does badly on technical books.

For a question, the large model then reads the best few of these, as many as the small reader leaves open and
as fit in a budget of CPU time. The budget is counted in word pieces, so that the same question always reads
the same passages. What the large model read comes first, in its order.

Passages in other languages than English, and all passages for a question that is not English, are read by the
multilingual reader, in the way of the small one. No larger model reads after it, so the passages behind the
first are spread over more sections.

Nothing here runs a model. Every weight and limit of reading is in this module, and
`python -m benchmarks.cascade` measures them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log1p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.search.ranking import Candidate


def _level_off(value: float) -> float:
    """Return a value that is far above 0 as it is, and nearly 0 for one that is far below."""
    return max(value, 0.0) + log1p(exp(-abs(value)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderWeights:
    """The weights of a reader's two scores and of the first-stage score.

    A fit counts for `most_fit` at most, and differences far below `least_fit` do not count.
    """

    rank: float
    answerable: float
    found: float
    most_fit: float
    least_fit: float

    def fit(self, rank: float, answerable: float) -> float:
        """How well a passage fits the question: its rank, and more the likelier it answers.

        How far a passage is from answering says nothing, so a low `answerable` levels off.
        """
        return min(self.most_fit, self.rank * rank + self.answerable * _level_off(answerable))

    def total(self, fit: float, score: float) -> float:
        """What candidates are ordered by: the fit, and the first-stage score.

        Of passages that all fit badly, the one that fits worst is no worse, so a low fit levels off.
        """
        return self.least_fit + _level_off(fit - self.least_fit) + self.found * score


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRules(OrderWeights):
    """How the small reader is used.

    It reads at most `depth` candidates, `batch` at a time, and none that was found with `reach` or more below
    the best. Of one section it reads `section_most`, and more only if they are `section_lead` ahead of what
    the other sections still have.
    """

    depth: int
    batch: int
    reach: float
    section_most: int
    section_lead: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeRules(OrderWeights):
    """How the large model is used.

    It reads at most `depth` candidates, and none that the small reader puts `clear` or more below the best.
    `small` is the weight of the small reader's total in the order. A word piece costs `piece_ms` of CPU time,
    and one question has `budget_ms`. The best candidate is read whatever it costs.
    """

    small: float
    depth: int
    clear: float
    piece_ms: float
    budget_ms: float


SMALL = SmallRules(
    rank=1.0,
    answerable=2.0,
    found=12.0,
    most_fit=18.0,
    least_fit=-2.0,
    depth=20,
    batch=4,
    reach=0.5,
    section_most=4,
    section_lead=0.05,
)
# For a question, where the first stage may be far off: in a novel a reader's words are seldom the book's.
ASKED = replace(SMALL, depth=40, reach=0.8)
LARGE = LargeRules(
    rank=1.0,
    answerable=1.0,
    found=4.0,
    most_fit=30.0,
    least_fit=-30.0,
    small=0.5,
    depth=5,
    clear=8.0,
    piece_ms=0.68,
    budget_ms=600.0,
)
# So many candidates of the first stage are looked at to select those that are read.
LOOKED_AT = 40
# A passage that the multilingual reader read loses so much of its total for each better one of its section.
# The first passage stays the same. Measured on the tuning halves of the books of docs/languages.md.
REPEATED = 4.0
# Totals are compared to this many decimals. Ties are broken by id.
_EXACT = 4


def select_candidates(
    candidates: Sequence[Candidate], sections: Mapping[str, str], rules: SmallRules = SMALL
) -> list[Candidate]:
    """Select the candidates that are worth reading, in the order of the first stage.

    `sections` has the section of each candidate whose text is there. The others are not read.
    """
    there = [candidate for candidate in candidates[:LOOKED_AT] if candidate.id in sections]
    close = [candidate for candidate in there if candidate.score > there[0].score - rules.reach]
    taken: Counter[str] = Counter()
    kept = []
    for place, candidate in enumerate(close):
        section = sections[candidate.id]
        following = next((c.score for c in close[place:] if sections[c.id] != section), -1.0)
        if taken[section] < rules.section_most or candidate.score - following > rules.section_lead:
            taken[section] += 1
            kept.append(candidate)
    return kept[: rules.depth]


def choose_batch(
    selected: Sequence[Candidate], totals: Mapping[str, float], rules: SmallRules = SMALL
) -> list[Candidate]:
    """Choose what to read next, or nothing once the first place is settled.

    `totals` has the totals of what was read already, by id.
    """
    unread = [candidate for candidate in selected if candidate.id not in totals]
    if totals and unread:
        possible = rules.total(rules.most_fit, max(candidate.score for candidate in unread))
        if max(totals.values()) > possible + 10**-_EXACT:
            return []
    return unread[: rules.batch]


def select_contenders(totals: Mapping[str, float], rules: LargeRules = LARGE) -> list[str]:
    """Select what the large model may read: the best of what the small reader has read, best first."""
    order = order_totals(totals)[: rules.depth]
    return [id_ for id_ in order if totals[id_] > totals[order[0]] - rules.clear]


def count_affordable(pieces: Sequence[int], rules: LargeRules = LARGE) -> int:
    """Count how many pairs of texts, in order, the budget allows. Each has so many word pieces."""
    spent, count = 0.0, 0
    for number in pieces[: rules.depth]:
        spent += number * rules.piece_ms
        if count and spent > rules.budget_ms:
            break
        count += 1
    return count


def order_totals(totals: Mapping[str, float]) -> list[str]:
    """Return the ids of what was read, best first."""
    return sorted(totals, key=lambda id_: (-round(totals[id_], _EXACT), id_))


def spread_totals(totals: Mapping[str, float], sections: Mapping[str, str]) -> list[str]:
    """Return the ids of what was read, best first, where a section counts less each time it comes up."""
    taken: Counter[str] = Counter()
    spread: dict[str, float] = {}
    for id_ in order_totals(totals):
        spread[id_] = totals[id_] - REPEATED * taken[sections[id_]]
        taken[sections[id_]] += 1
    return order_totals(spread)
