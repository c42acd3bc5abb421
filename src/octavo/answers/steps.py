"""What `ask` needs to answer questions, and the steps of its flow that take more than one call.

An answerer (the offline one, or a language model) gets a workspace with numbered sentences, and makes claims
that name these numbers. Every claim is checked against its sentences here, whoever made it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo.answers import calibration
from octavo.answers.catalogue import CATALOGUE_CONFIDENCE, tell_from_catalogue
from octavo.answers.citations import CheckedReply, number_citations
from octavo.answers.followups import interpret
from octavo.answers.orders import find_missing, find_order
from octavo.answers.replies import Reply
from octavo.answers.requests import read_reply_language
from octavo.answers.short import lead_with_short
from octavo.answers.turns import Turn
from octavo.answers.workspace import Workspace
from octavo.concurrency import run_blocking
from octavo.events import Working
from octavo.search.preferences import read_preferences
from octavo.search.scope import Bounds, ScopeResolver, bound_by_books
from octavo.search.spelling import Corrected
from octavo.text.language import detect_language, is_foreign
from octavo.verification.claims import UnansweredClaim
from octavo.verification.gate import verify_claims

if TYPE_CHECKING:
    from octavo.answers.replies import Answerer
    from octavo.records.catalogue import Records
    from octavo.records.conversations import Conversations
    from octavo.search.maps import MapReader
    from octavo.search.retrieval import Retriever
    from octavo.settings import Settings
    from octavo.types import Evidence, Message, Question

Rewrite = Callable[[str, Sequence[Turn], str], Awaitable[str | None]]
# How many turns back a follow-up may refer to.
HISTORY = 6
# The share of its confidence that an answer keeps if a name was corrected: the name may have been right, and
# the answer be about another. So it never reads as sure. Chosen, not measured.
RENAMED = 0.5


@dataclass(frozen=True, slots=True)
class AskSteps:
    """The parts of an open library that answer one reader's questions."""

    settings: Settings
    records: Records
    conversations: Conversations
    retriever: Retriever
    scope: ScopeResolver
    answerer: Answerer
    maps: MapReader | None = None
    offline: Answerer | None = None
    """Looks beyond the scope in place of an answerer that costs money."""
    rewrite: Rewrite | None = None
    """Completes a question: given the question, the turns before it, and a sample of the book if that is in
    another language. Where it returns nothing, the rules of `followups` complete the question."""

    def load_calibration(self, reply: CheckedReply) -> calibration.Calibration:
        """Load the calibration that the probabilities of a reply are of."""
        return calibration.load_calibration(reader=reply.reader or self.retriever.reader_size)

    def find_threshold(self, reply: Reply | CheckedReply) -> float:
        """Return how answerable the question of a reply must be to be answered."""
        return calibration.threshold(self.settings.risk, reader=reply.reader or self.retriever.reader_size)

    def find_silence(self, reply: CheckedReply) -> float:
        """Below this the book does not answer; from here to the threshold it is unclear whether it does."""
        # With a trained reader the scores lie closer together.
        share = 0.25 if (reply.reader or self.retriever.reader_size) == "off" else 0.5
        return self.find_threshold(reply) * share

    async def interpret(self, question: Question) -> str:
        """Complete a follow-up from its session, or from the history that came with it, so that it can be
        understood by itself.

        A language model also translates a question into the language of the book. In which language the
        reader wants the answer is no part of what is looked for.
        """
        if find_order(question) is not None:
            return question.content
        asked, _ = read_reply_language(question.content)
        turns = read_history(question.conversation_history)
        if question.session_id is not None:
            past = await self.conversations.list_turns(question.session_id, most=HISTORY)
            turns = [Turn(asked, answered) for asked, answered in past] or turns
        if self.rewrite is not None:
            sample = await self._sample_book(asked)
            rewritten = await self.rewrite(asked, turns, sample) if turns or sample else None
            if rewritten:
                return rewritten
        return interpret(asked, turns)

    async def correct_spelling(self, question: Question, interpreted: str, bounds: Bounds) -> Corrected:
        """Correct the misspelt words of a question by those of the books it is asked of.

        An order is left as it was given.
        """
        if find_order(question) is not None:
            return Corrected(interpreted)
        return await self.retriever.correct_spelling(interpreted, bounds=bounds)

    async def make_workspace(self, question: Question, bounds: Bounds) -> Workspace:
        """Make the place to work on a question, with what the reader prefers."""
        preferences = read_preferences(question.user_preferences, await self.scope.list_books())
        return Workspace(
            question.content, bounds, self.retriever, self.records, preferences=preferences, maps=self.maps
        )

    async def _sample_book(self, question: str) -> str:
        """Return some text of the books if the question is in another language, else nothing."""
        if not detect_language(question):
            return ""
        found = await self.retriever.search(question, bounds=bound_by_books(self.scope.books), top_k=2)
        sample = " ".join(item.chunk.content for item in found)
        return sample if is_foreign(question, sample) else ""

    async def search(self, question: Question, interpreted: str, workspace: Workspace) -> bool:
        """Search for what a question asks, unless it asks nothing by itself. Return whether it does."""
        if find_missing(question, interpreted):
            return False
        await workspace.search(interpreted, top_k=question.top_k, reader="large")
        return True

    async def answer(
        self, interpreted: str, workspace: Workspace, *, is_complete: bool = True
    ) -> AsyncGenerator[Working | Reply, None]:
        """Have the question answered. Yield what is being done as it happens, and last the reply.

        What is not a complete question has nothing that could be answered.
        """
        if not is_complete:
            yield Reply((), answerable=0.0, confidence=0.0, answerer="offline")
            return
        steps: asyncio.Queue[Working | None] = asyncio.Queue()
        workspace.on_step = lambda step, detail: steps.put_nowait(Working(step, detail))
        reply = asyncio.ensure_future(self._reply(interpreted, workspace))
        reply.add_done_callback(lambda _: steps.put_nowait(None))
        try:
            while (step := await steps.get()) is not None:
                yield step
            yield await reply
        finally:
            # If the reader leaves, cancel the answerer, and the request that it is waiting for.
            reply.cancel()
            await asyncio.gather(reply, return_exceptions=True)

    async def _reply(self, interpreted: str, workspace: Workspace) -> Reply:
        known = await tell_from_catalogue(interpreted, workspace)
        if not known:
            return await self.answerer.reply(interpreted, workspace)
        return Reply(
            known,
            answerable=1.0,
            confidence=CATALOGUE_CONFIDENCE,
            answerer="offline",
            notes=MappingProxyType({"from": "catalogue"}),
        )

    async def verify(
        self,
        interpreted: str,
        workspace: Workspace,
        reply: Reply,
        *,
        found: tuple[Evidence, ...],
        name: str = "",
        renamed: bool = False,
    ) -> CheckedReply:
        """Keep the claims that hold, and number their citations. `found` is the evidence found first.

        `name` is that of the answerer, if it is not the one of these steps. If a name of the question was
        corrected (`renamed`), the reply is less sure.
        """
        sentences = {sentence.id: sentence for sentence in workspace}
        began = time.monotonic()
        claims, dropped = await run_blocking(
            verify_claims,
            reply.claims,
            sentences,
            given=interpreted,
            opinions=workspace.opinions,
            risk=self.settings.model_risk,
        )
        if all(isinstance(claim, UnansweredClaim) for claim in claims):
            claims = ()
        checking = reply.checking + time.monotonic() - began
        short, claims = lead_with_short(reply.short, claims, sentences)
        numbers = number_citations(claims, short=short)
        cited = {sentences[id_].chunk.id for id_ in numbers}
        # A passage that was cut at the bounds of a selection may have been read on.
        known = {item.chunk.id: item for item in workspace.evidence}
        return CheckedReply(
            evidence=(
                *(known.get(item.chunk.id, item) for item in found),
                *(e for e in workspace.evidence[len(found) :] if e.chunk.id in cited),
            ),
            sentences=sentences,
            claims=claims,
            numbers=numbers,
            dropped=(*reply.dropped, *dropped),
            answerable=reply.answerable,
            confidence=reply.confidence * (RENAMED if renamed else 1.0),
            answerer=reply.answerer or name or self.answerer.name,
            notes=reply.notes,
            checking=checking,
            local=_list_local_models(workspace, reply),
            short=short,
            reader=reply.reader,
        )

    async def look_beyond(self, question: Question, interpreted: str, wider: Bounds) -> CheckedReply:
        """Answer within wider bounds, to tell whether the book has an answer there."""
        workspace = Workspace(question.content, wider, self.retriever, self.records, maps=self.maps)
        await workspace.search(interpreted, top_k=question.top_k, reader="large")
        found, answerer = tuple(workspace.evidence), self.offline or self.answerer
        reply = await answerer.reply(interpreted, workspace)
        return await self.verify(interpreted, workspace, reply, found=found, name=answerer.name)


def read_history(messages: Sequence[Message]) -> list[Turn]:
    """Read the last turns of a conversation: each question with the answer that follows it, if one does."""
    turns: list[Turn] = []
    for message in messages:
        if message.role == "user":
            turns.append(Turn(message.content, ""))
        elif turns and not turns[-1].answer:
            turns[-1] = Turn(turns[-1].question, message.content)
    return turns[-HISTORY:]


def _list_local_models(workspace: Workspace, reply: Reply) -> tuple[str, ...]:
    """List the models that read for the search and for the answer, and the verifiers that were asked."""
    return tuple({**workspace.readers, **dict.fromkeys((*reply.readers, *workspace.list_verifiers()))})
