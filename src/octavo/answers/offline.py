"""The offline answerer: quotes the sentences of the evidence that answer a question.

It is one `Answerer` (`answers.replies`), and a language model is another.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo.answers import calibration
from octavo.answers.announcements import add_announced
from octavo.answers.catalogue import CATALOGUE_CONFIDENCE, make_catalogue_claim, tell_from_catalogue
from octavo.answers.entries import find_entry
from octavo.answers.extract import MOST_WORDS, Extraction, explains, extract_answer, shortlist
from octavo.answers.features import state_answer
from octavo.answers.foreign import measure_language
from octavo.answers.halves import Half, complete_half, list_named
from octavo.answers.headed import find_headed
from octavo.answers.identity import (
    find_described,
    find_other_senses,
    is_known_person,
    list_companions,
    tell_more,
    weigh_contrast,
    weigh_sides,
    weigh_speech,
)
from octavo.answers.lists import complete_lists, drop_lone_mark, may_want_several, wants_several
from octavo.answers.names import find_name, is_of_owner, list_likely_names
from octavo.answers.orders import Order, OrderKind, find_selected_name, obey, read_order
from octavo.answers.overview import Gist, find_part, tell_part
from octavo.answers.own_name import ask_in_own_word
from octavo.answers.parts import find_untold_title
from octavo.answers.pointers import follow_pointers
from octavo.answers.presence import has_people
from octavo.answers.questions import Expected, QuestionKind, parse_question, write_question
from octavo.answers.reading import (
    Reading,
    look_around,
    narrow,
    read_deeply,
    score_sentence,
    select_deep,
    take_quoted,
)
from octavo.answers.references import add_antecedents, points_back
from octavo.answers.replies import Reply, choose_name, join_comparison, join_replies
from octavo.answers.requests import (
    ComparisonRequest,
    IdentityRequest,
    PartRequest,
    SeveralRequest,
    TableRequest,
    read_request,
)
from octavo.answers.short import LONGEST, fit_short, lead_with_short
from octavo.answers.tables import complete_table, find_named_table, is_named
from octavo.answers.workspace import Workspace
from octavo.concurrency import run_blocking
from octavo.text.language import is_other_language
from octavo.types import TOP_K_DEFAULT
from octavo.verification.claims import Claim

if TYPE_CHECKING:
    from octavo.protocols import Embedder, SupportModel
    from octavo.search.ranking import ReaderKind
    from octavo.search.rerank import Reranker
    from octavo.types import Chunk
    from octavo.verification.claims import Sentence

EmbedQuery = Callable[[str], Awaitable[tuple[float, ...]]]
# So many sentences are compared with the question by their vectors. More are not worth the time.
MOST_EMBEDDED = 4
# The readers were trained with questions, not with orders such as "tell me about Ahab".
_ASKS_WHAT = re.compile(r"\W*(?:who|what)", re.IGNORECASE)
_ASKS_WHO = re.compile(r"\W*who\b", re.IGNORECASE)
# How sure it is that what a section says first is what its title is.
HEADED = 0.6
# How sure it is that an entry says what it is of, and that a table has what it is called.
ENTRY = 0.6
TABLE = 0.6
# The most that an answer is sure of a list which another sentence points to: no reader has read it.
POINTED = 0.6
# A name that is less sure than this is looked for once more.
UNSURE = 0.5
_NAME = re.compile(r"\b(?:names?|called)\b", re.IGNORECASE)
# So many passages are found for each side of a comparison.
SIDE_PASSAGES = 3
# How much of its confidence an answer keeps that has no extreme, if the question asks for the longest or the
# like: of 22 such answers to public questions 7 were right, at a mean confidence of 0.51.
WITHOUT_EXTREME = 0.65
# How much of its confidence an answer to a yes-or-no question keeps that says it of "this" or "it": so little
# that it is shown as a guess. Chosen, not measured: the public questions have none of these.
POINTS_BACK = 0.4
# How much of its confidence an answer keeps whose passage does not name the owner of the ship that is asked
# for. Chosen so that it is no sure one.
WITHOUT_OWNER = 0.5
# And one of how something came to somebody who is not named anywhere near: of nine such answers about two
# novels eight were wrong, four of them at more than 0.5.
WITHOUT_PEOPLE = 0.5
# And one of what something is from a sentence that most likely means another of the name. Chosen, so that it
# is no sure one.
OTHER_SENSE = 0.5
# The most words of an answer in several parts, with the sentences that they point back to.
MOST_JOINED = 120
# How often an order about a selection is carried out as the reader meant it.
ORDER_CONFIDENCE = 0.7
# A text that is in no book can only be quoted: that explains little, so it is shown as a guess.
OWN_TEXT_CONFIDENCE = 0.2
# Who or what a selected name is, is told if it is no guess. Otherwise the place where it stands is.
LEAST_TOLD = 0.4


class OfflineAnswerer:
    """Quotes the book. The trained reader chooses the sentences, or, without it, words and meaning do."""

    name = "offline"

    def __init__(
        self, embedder: Embedder, *, embed_query: EmbedQuery | None = None, reranker: Reranker | None = None
    ) -> None:
        """`embed_query` returns the vector of a question, from a cache if it can."""
        self._embedder, self._reranker = embedder, reranker
        self._embed_query = embed_query or self._embed

    async def reply(
        self, question: str, given: Sequence[Sentence], *, deep: Mapping[str, Chunk] = MappingProxyType({})
    ) -> Reply:
        """Answer in the way of the question's kind, or in the plain way where that finds nothing.

        The kinds are those of English questions to English books, which may have passages in other languages.
        Where `given` is no workspace, `deep` has the passages of it that the large model has read.
        """
        question = write_question(question)
        other = sum(is_other_language(question, sentence.chunk.language) for sentence in given)
        if other > len(given) / 2:
            return await self._answer_in_any_language(question, given)
        order = read_order(question) if isinstance(given, Workspace) and given.is_selection else None
        if isinstance(given, Workspace) and order is not None:
            obeyed = await self._obey(order, given)
            if obeyed.claims or order.kind is not OrderKind.DEFINE:
                return obeyed
        if isinstance(given, Workspace) and given.bounds.within is None and given.bounds.passage is None:
            request = read_request(question)
            match request:
                case PartRequest(part):
                    reply = await self._tell_part(part, given)
                case ComparisonRequest(sides):
                    reply = await self._compare(question, sides, given)
                case SeveralRequest():
                    reply = await self._answer_halves(request, given)
                case IdentityRequest(name):
                    reply = await self._identify(question, name, given)
                case TableRequest(name):
                    reply = await _tell_table(name, given)
                case None:
                    reply = None
            if reply is not None:
                if isinstance(request, IdentityRequest):
                    # "What were the thirteen virtues?" asks what something is, and gets a list.
                    reply = await _complete(question, reply, given)
                whole = isinstance(request, ComparisonRequest | SeveralRequest)
                is_gist = isinstance(request, PartRequest)
                return reply if is_gist else await _add_context(question, reply, given, several=whole)
        if other:
            return await self._answer_in_any_language(question, given)
        if not isinstance(given, Workspace):
            return await self._answer(question, given, given, deep=deep)
        reply = await self._answer(question, given, given)
        named = await find_name(question, given)
        if named is not None:
            reply = choose_name(reply, named, _read_short(reply, given))
        else:
            reply = await self._look_for_name(question, reply, given)
        if not await has_people(question, reply.claims, given):
            reply = replace(reply, confidence=reply.confidence * WITHOUT_PEOPLE)
        reply = await self._ask_in_own_word(question, reply, given)
        reply = await _complete(question, reply, given)
        return await _add_context(question, reply, given, several=wants_several(question))

    async def _obey(self, order: Order, workspace: Workspace) -> Reply:
        """Carry out an order about a selection. Say who or what a name is, if that is no guess."""
        name = find_selected_name(order, workspace.bounds)
        if name:
            read = workspace.look_back()
            asked = f"{'Who' if await is_known_person(name, read) else 'What'} is {name}?"
            await read.search(asked, top_k=TOP_K_DEFAULT, reader="large")
            reply = await self._identify(asked, name, read)
            if reply is not None and reply.claims and reply.confidence >= LEAST_TOLD:
                return replace(await _add_context(asked, reply, read), answerable=1.0)
        claims = await obey(order, workspace)
        is_only_own = workspace.bounds.passage is not None and order.kind is OrderKind.EXPLAIN
        confidence = OWN_TEXT_CONFIDENCE if is_only_own else ORDER_CONFIDENCE
        sure = confidence if claims else 0.0
        return Reply(claims, answerable=float(bool(claims)), confidence=sure)

    async def _look_for_name(self, question: str, reply: Reply, workspace: Workspace) -> Reply:
        """Look again for a name that is not sure. Where the owner is not named, the answer is less sure."""
        if reply.confidence < UNSURE and _asks_name(question):
            reply = await self._look_again(question, reply, workspace)
        if not reply.claims or await is_of_owner(question, reply.claims[0], workspace):
            return reply
        answerable, confidence = reply.answerable * WITHOUT_OWNER, reply.confidence * WITHOUT_OWNER
        return replace(reply, answerable=answerable, confidence=confidence)

    async def _look_again(self, question: str, reply: Reply, workspace: Workspace) -> Reply:
        """Search also with the names that may be asked for, or that occur most with those of the question.

        The surer answer is kept. Whose ship it is often stands where the ship is named, and not where its
        captain is.
        """
        names = await list_likely_names(question, workspace) or await list_companions(question, workspace)
        if not names:
            return reply
        wider = f"{question} {' '.join(names)}"
        sentences = await workspace.search(wider, top_k=TOP_K_DEFAULT, reader="large")
        again = await self._answer(question, sentences, workspace)
        return max(reply, again, key=lambda one: one.confidence)

    async def _ask_in_own_word(self, question: str, reply: Reply, workspace: Workspace) -> Reply:
        """Ask about the book also in its own word for itself; keep that answer if it is no less sure.

        A sure answer in the book's own word is kept in any case.
        """
        own = await ask_in_own_word(question, workspace)
        if own is None:
            return reply
        sentences = await workspace.search(own, top_k=TOP_K_DEFAULT, reader="large")
        again = await self._answer(own, sentences, workspace)
        return again if again.confidence >= min(UNSURE, reply.confidence) else reply

    async def _tell_part(self, name: str, workspace: Workspace) -> Reply | None:
        """Tell what a part of the book says, in sentences of its own, and its title if that is news."""
        part = await find_part(name, workspace)
        gist = await tell_part(part, workspace) if part else Gist()
        if part is None or not gist.claims:
            return None
        title = find_untold_title(part, name)
        titled = [make_catalogue_claim(f"It is titled “{title}”.", part.sections[0].book_id)] if title else []
        return Reply((*titled, *gist.claims), answerable=1.0, confidence=gist.confidence)

    async def _identify(self, question: str, name: str, workspace: Workspace) -> Reply | None:
        """Say who or what something is from all places that the map has of it.

        An entry of its own opens the answer, and how its section begins where nothing surer is found.
        """
        described = await find_described(name, workspace)
        is_person = _ASKS_WHO.match(question) is not None
        entry = [] if is_person else await find_entry(name, workspace)
        headed = [] if is_person or entry else await find_headed(name, workspace)
        if not described and not headed:
            return None
        asked = question if _ASKS_WHAT.match(question) else f"What is {name}?"
        others = await find_other_senses(name, workspace)
        favoured = weigh_speech(workspace) | described | others
        reply = await self._answer(asked, workspace, workspace, favoured=favoured)
        if entry or (headed and reply.confidence < UNSURE):
            claims = tuple(Claim(sentence.text, (sentence.id,)) for sentence in entry or headed)
            alike = reply.claims and {*reply.claims[0].sentences} & {*claims[0].sentences}
            least = ENTRY if entry else HEADED
            confidence = max(least, reply.confidence) if alike else least
            return replace(reply, claims=claims, answerable=1.0, confidence=confidence, short=None)
        if not reply.claims:
            return reply
        if {sentence.id for sentence in others} & {*reply.claims[0].sentences}:
            reply = replace(reply, confidence=reply.confidence * OTHER_SENSE)
        return replace(reply, claims=tell_more(name, reply.claims, described, workspace))

    async def _compare(self, question: str, sides: tuple[str, str], workspace: Workspace) -> Reply | None:
        """Say what each side is, then what the book says of both, best where it sets them apart."""
        for side in sides:
            await workspace.search(f"What is {side}?", top_k=SIDE_PASSAGES, reader="large")
        contrast = weigh_contrast(sides, workspace)
        # Two sides stand in many passages, so more of them are read, each by itself.
        both = await self._answer(question, workspace, workspace, favoured=contrast, wide=False)
        each = [await self._describe_side(side, sides, workspace) for side in sides]
        if not all(reply.claims for reply in each):
            return both
        return join_comparison(each, both)

    async def _describe_side(self, side: str, sides: tuple[str, str], workspace: Workspace) -> Reply:
        """Say what one side of a comparison is, best where the book speaks of both."""
        described = await find_described(side, workspace)
        favoured = weigh_sides(side, sides, workspace)
        for sentence, more in described.items():
            favoured[sentence] = favoured.get(sentence, 0.0) + more
        asked = f"What is {side}?"
        return await self._answer(asked, workspace, workspace, favoured=favoured, wide=False)

    async def _answer_halves(self, request: SeveralRequest, workspace: Workspace) -> Reply | None:
        """Answer each part from passages of its own. The second one may mean the answer of the first.

        A part that still asks two things is not named as one without an answer: half of it may have one.
        """
        replies, before = list[Reply](), ""
        for asked in request.asked:
            told = _read_short(replies[-1], workspace) if replies else ""
            before = complete_half(asked, first=before, answer=told) if replies else asked
            replies.append(await self._answer_half(before, workspace))
        joined = join_replies(replies, claims_each=None)
        parts = zip(request.asked, replies, strict=True) if request.is_split_wholly else ()
        halves = tuple(_make_half(asked, reply) for asked, reply in parts)
        return replace(joined, halves=halves) if joined else None

    async def _answer_half(self, question: str, workspace: Workspace) -> Reply:
        """Answer one part of a question from the catalogue, or with at most two claims, or with a list."""
        known = await tell_from_catalogue(question, workspace)
        if known:
            return Reply(known, answerable=1.0, confidence=CATALOGUE_CONFIDENCE)
        sentences = await workspace.search(question, top_k=TOP_K_DEFAULT, reader="large")
        request = read_request(question)
        reply = (
            await self._identify(question, request.name, workspace)
            if isinstance(request, IdentityRequest)
            else None
        )
        reply = reply or await self._answer(question, sentences, workspace)
        return await _complete(question, replace(reply, claims=reply.claims[:2]), workspace)

    async def _answer(
        self,
        question: str,
        sentences: Sequence[Sentence],
        given: Sequence[Sentence],
        *,
        favoured: Mapping[Sentence, float] = MappingProxyType({}),
        deep: Mapping[str, Chunk] = MappingProxyType({}),
        wide: bool = True,
    ) -> Reply:
        """Answer from sentences in the plain way. `favoured` ones count more.

        Passages are read with what stands around them if it is `wide`.
        """
        bonus = {sentence.id: more for sentence, more in favoured.items()}
        if self._reranker is not None:
            known = given.deep if isinstance(given, Workspace) else deep
            if not wide:
                known = narrow(known, [s.chunk for s in sentences])
            return await self._reply_with_reader(
                question, sentences, given, self._reranker, bonus=bonus, known=known
            )
        extraction = extract_answer(question, await self._add_similarity(question, sentences), bonus=bonus)
        return _make_reply(extraction, extraction.features, reader="off")

    async def _answer_in_any_language(self, question: str, given: Sequence[Sentence]) -> Reply:
        """Answer from what the multilingual reader reads, or from English passages, whichever is surer.

        Without that reader nobody can tell whether the passages answer, so the question is refused.
        """
        other = [s for s in given if is_other_language(question, s.chunk.language)]
        known = {s.id for s in other}
        english = [s for s in given if s.id not in known]
        replies = [await self._answer(question, english, given)] if english else []
        if self._reranker is not None and self._reranker.multilingual is not None:
            replies.append(await self._reply_with_multilingual(question, other, self._reranker))
        return max(replies, key=lambda reply: reply.confidence, default=Reply((), 0.0, 0.0))

    async def _reply_with_multilingual(
        self, question: str, sentences: Sequence[Sentence], reranker: Reranker
    ) -> Reply:
        chunks = {(s.chunk.id, s.chunk.start): s.chunk for s in sentences}
        scores = await reranker.score_in_any_language(question, list(chunks.values()))
        by_chunk = dict(zip(chunks, scores, strict=True))
        seen = {s.id: score_sentence(s, s.chunk, by_chunk[s.chunk.id, s.chunk.start]) for s in sentences}
        extraction = extract_answer(question, sentences, seen=seen, reader="multilingual")
        opinion = reranker.multilingual.score_support if reranker.multilingual else None
        features = await _add_opinion(question, extraction, opinion)
        measured = measure_language(question, extraction.claims, sentences)
        extraction = replace(extraction, short=None)
        reply = _make_reply(extraction, {**features, **measured}, reader="multilingual")
        names = (reranker.multilingual.name,) if reranker.multilingual else ()
        return replace(reply, readers=names, reader="multilingual")

    async def _reply_with_reader(
        self,
        question: str,
        sentences: Sequence[Sentence],
        given: Sequence[Sentence],
        reranker: Reranker,
        *,
        bonus: Mapping[str, float],
        known: Mapping[str, Chunk],
    ) -> Reply:
        """Answer from the passages that were read. Where there is a large model, the opinion is its own.

        It reads the passages of sentences that count more besides those that it read for the order, which are
        `known`. What it read around a passage may answer too.
        """
        chunks = {(s.chunk.id, s.chunk.start): s.chunk for s in sentences}
        around: list[Sentence] = []
        if reranker.large is None:
            reader, opinion = reranker.reader.name, _find_opinion(given, reranker)
            scores = await reranker.score_passages(question, list(chunks.values()))
            reading = Reading(tuple(zip(chunks.values(), scores, strict=True)))
        else:
            reader, opinion = reranker.large.name, reranker.large.score_support
            reading = await read_deeply(question, select_deep(chunks, known, given), reranker)
            unread = [s for s in sentences if bonus.get(s.id, 0.0) > 0 and reading.score(s) is None]
            own = {(s.chunk.id, s.chunk.start): s.chunk for s in unread}
            around = await look_around(reading, given)
            reading = reading.join(await read_deeply(question, list(own.values()), reranker))
        every = {s.id: s for s in (*sentences, *around)}
        seen = {id_: score for id_, s in every.items() if (score := reading.score(s)) is not None}
        read = [every[id_] for id_ in seen]
        extraction = extract_answer(question, read, seen=seen, reader=reranker.size, bonus=bonus)
        features = await _add_opinion(question, extraction, opinion)
        if isinstance(given, Workspace):
            extraction = await take_quoted(extraction, around, given)
        reply = _make_reply(extraction, features, reader=reranker.size)
        return replace(reply, readers=(reader,) if read else ())

    async def _add_similarity(self, question: str, given: Sequence[Sentence]) -> list[Sentence]:
        """Compare the likeliest sentences with the question by meaning. The others have 0."""
        likely = set(shortlist(question, given, most=MOST_EMBEDDED))
        texts = {sentence.id: sentence.text for sentence in given if sentence.id in likely}
        if not texts:
            return list(given)
        asked = await self._embed_query(question)
        vectors = await run_blocking(self._embedder.embed, list(texts.values()))
        near = {id_: _cosine(asked, vector) for id_, vector in zip(texts, vectors, strict=True)}
        return [replace(sentence, similarity=near.get(sentence.id, 0.0)) for sentence in given]

    async def _embed(self, question: str) -> tuple[float, ...]:
        (vector,) = await run_blocking(self._embedder.embed, [question])
        return vector


async def _complete(question: str, reply: Reply, workspace: Workspace) -> Reply:
    """Complete a list or a table of which the claims quote a part, and what they announce.

    Where a few words answer a question for one thing, nothing is missing but the headings of a table.
    """
    several = wants_several(question)
    told = await complete_table(reply.claims, workspace, question=question, short=reply.short)
    if told != reply.claims:
        is_table = several and is_named(told, question, workspace)
        sure = max(TABLE, reply.confidence) if is_table else reply.confidence
        return replace(reply, claims=told, confidence=sure, short=None if several else reply.short)
    if not reply.claims or (reply.short and not may_want_several(question)):
        return reply
    if several:
        followed = await follow_pointers(reply.claims, workspace, question=question)
        if followed != reply.claims:
            return replace(reply, claims=followed, confidence=min(POINTED, reply.confidence), short=None)
    whole = await complete_lists(reply.claims, workspace, question=question)
    short = None if several or whole != reply.claims else reply.short
    claims = whole if short else await add_announced(whole, workspace, most=MOST_JOINED)
    return replace(reply, claims=claims, short=short)


async def _tell_table(name: str, workspace: Workspace) -> Reply | None:
    """Tell a table that is called by a name."""
    claims = await find_named_table(name, workspace)
    return Reply(claims, answerable=1.0, confidence=TABLE) if claims else None


async def _add_context(question: str, reply: Reply, workspace: Workspace, *, several: bool = False) -> Reply:
    """Quote what the claims point back to. Where one that points back decides yes or no, it is less sure.

    An answer with `several` parts may be longer.
    """
    if not reply.claims:
        return reply
    sentences = {sentence.id: sentence for sentence in workspace}
    decides = parse_question(question).kind is QuestionKind.YES_NO and reply.claims[0].sentences
    unsure = bool(decides) and points_back(_find_chosen(reply.claims[0], sentences).words)
    most = MOST_JOINED if several else MOST_WORDS - (LONGEST if reply.short else 0)
    # The claim with the short answer comes first, and its context with it.
    _, claims = lead_with_short(reply.short, reply.claims, sentences)
    claims = await add_antecedents(claims, workspace, most=most)
    claims = drop_lone_mark(claims, {sentence.id: sentence for sentence in workspace})
    return replace(reply, claims=claims, confidence=reply.confidence * (POINTS_BACK if unsure else 1.0))


def _find_chosen(claim: Claim, sentences: Mapping[str, Sentence]) -> Sentence:
    """Find the sentence of a claim that was chosen: the last, without one that explains it."""
    quoted = [sentences[id_] for id_ in claim.sentences]
    while len(quoted) > 1 and explains(quoted[-1].text):
        quoted.pop()
    return quoted[-1]


def _make_half(question: str, reply: Reply) -> Half:
    sentences = frozenset(id_ for claim in reply.claims for id_ in list_named(claim))
    return Half(question, reply.answerable, reply.confidence, sentences)


def _read_short(reply: Reply, workspace: Workspace) -> str:
    """Read the words that answer: the short answer, or else what the reader marked."""
    if reply.short is not None:
        sentence = next(s for s in workspace if s.id == reply.short.sentence)
        return sentence.text[reply.short.start : reply.short.end]
    return next((claim.text[start:end] for claim in reply.claims for start, end in claim.marks), "")


def _asks_name(question: str) -> bool:
    return parse_question(question).expected is Expected.PERSON or _NAME.search(question) is not None


def _make_reply(extraction: Extraction, features: Mapping[str, float], *, reader: ReaderKind) -> Reply:
    short, claims = fit_short(extraction.short, extraction.claims, most=MOST_WORDS)
    confidence = calibration.confidence(features, reader=reader)
    return Reply(
        claims,
        answerable=calibration.answerable(features, reader=reader),
        confidence=confidence if extraction.has_extreme else confidence * WITHOUT_EXTREME,
        features=features,
        short=short,
    )


def _find_opinion(given: Sequence[Sentence], reranker: Reranker) -> SupportModel | None:
    return given.opinion if isinstance(given, Workspace) else reranker.opinion


async def _add_opinion(
    question: str, extraction: Extraction, opinion: SupportModel | None
) -> Mapping[str, float]:
    """Add the trained verifier's opinion of question and answer as one statement to the features."""
    if opinion is None or not extraction.around:
        return extraction.features
    (odds,) = await run_blocking(opinion, state_answer(question, extraction.words), [extraction.around])
    return MappingProxyType({**extraction.features, "stated": round(float(odds), 4)})


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
