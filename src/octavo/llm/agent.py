"""Answers with a language model, and still says nothing that the book does not carry.

The model searches and reads through the tools of a `Room`, or answers in one go from what was found first
where an endpoint knows no tools. Its claims are cleaned, and checked against the sentences they name; those
that do not hold come back to it once to be mended, and are dropped after that. How likely it is that the book
answers at all is judged from the evidence, as it is offline, never by the model. When the model fails, for
whatever reason, the offline answer takes its place and says so.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agents import Agent, AgentOutputSchemaBase, RunConfig, Runner
from agents.exceptions import AgentsException, ModelRefusalError

from octavo.answers.offline import OfflineAnswerer, Reply
from octavo.concurrency import run_blocking
from octavo.errors import ModelError
from octavo.llm import prompts
from octavo.llm.client import CallFailed, Endpoint, Exhausted, Metered, Unsupported
from octavo.llm.prompts import Said
from octavo.llm.tools import Calls, tool, tools_of
from octavo.text.language import foreign, renders
from octavo.verification.claims import Claim, GlossedClaim
from octavo.verification.gate import UNSAID, verify_claim

if TYPE_CHECKING:
    from octavo.answers.followups import Turn
    from octavo.answers.workspace import Workspace
    from octavo.settings import Settings
    from octavo.verification.claims import Sentence

NOTHING_HELD = "none of what the model said is borne out by the book"
_MOST_TRIED = 40  # sentences that are tried when a claim names the wrong ones


class ModelAnswerer:
    """The language model for one question. Several share an endpoint."""

    def __init__(self, settings: Settings, endpoint: Endpoint, offline: OfflineAnswerer) -> None:
        self.name = settings.model
        self._mode = settings.model_mode
        self._endpoint, self._offline = endpoint, offline
        self._ledger = endpoint.ledger()

    async def rewrite(self, question: str, turns: Sequence[Turn], sample: str) -> str | None:
        """The question on its own feet, in the language of `sample`; None where the model is of no help."""
        nonce = secrets.token_hex(4)
        told, message = prompts.rewriting(question, turns, sample=sample, nonce=nonce)
        model = Metered(self._endpoint, self._ledger)
        try:
            self._endpoint.breaker.check()
            async with asyncio.timeout(max(0.001, self._ledger.seconds_left)):
                run = await _run(Agent(name="rewriting", instructions=told, model=model), message, turns=1)
        except (ModelError, TimeoutError):
            return None  # the answer itself will tell of a model that is down
        return prompts.rewritten(run.text, question, turns, translated=bool(sample))

    async def reply(self, question: str, room: Workspace) -> Reply:
        """What the model says as far as it holds; the offline answer where the model fails."""
        quoted = await self._offline.reply(question, room)
        held = _Held(room, question, foreign=_foreign(room))
        calls = Calls(self._endpoint.limits.tool_calls, self._endpoint.limits.tool_seconds)
        try:
            mode = await self._ask(question, room, held, calls)
        except ModelError as failure:
            return self._instead(quoted, failure.message, held, calls)
        notes = {"mode": mode, "tool_calls": calls.made, "gathered": len(room.evidence)}
        if held.said and not held.claims:
            return self._instead(quoted, NOTHING_HELD, held, calls)
        cited = await self._answerable(question, room, held)
        return Reply(
            tuple(held.claims),
            answerable=max(quoted.answerable, cited),
            confidence=cited * held.support,
            features=quoted.features,
            dropped=tuple(held.dropped),
            checking=held.checking,
            notes={"name": self.name, **notes, "mended": held.mended, **self._ledger.notes()},
        )

    def _instead(self, quoted: Reply, why: str, held: _Held, calls: Calls) -> Reply:
        """The offline answer, marked as what it is."""
        notes = {"name": self.name, "failed": why, "tool_calls": calls.made, "mended": held.mended}
        return replace(
            quoted,
            answerer=f"offline, because {why}",
            dropped=tuple(held.dropped),
            checking=held.checking,
            notes={**notes, **self._ledger.notes()},
        )

    async def _ask(self, question: str, room: Workspace, held: _Held, calls: Calls) -> str:
        """Has the model answer, and says in which mode it did."""
        breaker = self._endpoint.breaker
        breaker.check()
        try:
            async with asyncio.timeout(max(0.001, self._ledger.seconds_left)):
                mode = await self._in_some_mode(question, room, held, calls)
        except TimeoutError:
            breaker.note(failed=True)
            raise Exhausted(f"it took longer than {self._endpoint.limits.seconds:g} seconds") from None
        except ModelError:
            breaker.note(failed=True)
            raise
        breaker.note(failed=False)
        return mode

    async def _in_some_mode(self, question: str, room: Workspace, held: _Held, calls: Calls) -> str:
        if self._mode == "single" or (self._mode == "auto" and "tools" in self._endpoint.lacking):
            await self._converse(question, room, held, None)
            return "single"
        try:
            await self._converse(question, room, held, calls)
        except (Unsupported, _Unreadable) as failure:
            if isinstance(failure, Unsupported):
                self._endpoint.lacking.add(failure.feature)
            if self._mode == "agent":
                raise
            await self._converse(question, room, held, None)
            return "single"
        return "agent"

    async def _converse(self, question: str, room: Workspace, held: _Held, calls: Calls | None) -> None:
        """One conversation: question, searches, claims, and one chance to mend those that do not hold."""
        nonce, limits = secrets.token_hex(4), self._endpoint.limits
        model = Metered(self._endpoint, self._ledger, on_text=_once(room))
        model.last_turn = max(1, limits.turns - 1)  # the last one is for mending
        with_schema = calls is None or self._endpoint.hosted
        agent = Agent[Any](
            name="librarian",
            instructions=prompts.instructions(nonce, tools=calls is not None),
            model=model,
            tools=list(tools_of(room, calls, nonce=nonce)) if calls else [],
            output_type=_Claims() if with_schema else None,
        )
        where = room.bounds.description
        message = prompts.asking(room.asked, question, list(room), where=where, nonce=nonce)
        run = await _run(agent, message, turns=limits.turns)
        said = prompts.parse(run.text)
        failed = [] if said is None else await run_blocking(held.take, said)
        if said is not None and not failed:
            return
        room.say("mending", "the form" if said is None else f"{len(failed)} of {len(said)} claims")
        try:
            told = _user(prompts.mending(await run_blocking(held.pointed, failed)))
            again = await _run(agent, [*run.history, told], turns=limits.turns)
        except ModelError:
            if said is None:
                raise _Unreadable from None
            held.drop(failed)
            return
        mended = prompts.parse(again.text)
        if said is None and mended is None:
            raise _Unreadable
        await run_blocking(held.mend, failed, mended or [], whole=said is None)

    async def _answerable(self, question: str, room: Workspace, held: _Held) -> float:
        """The chance that the passages which the model cites answer the question, judged as it is offline."""
        cited = {held.sentences[id_].chunk.id for claim in held.claims for id_ in claim.sentences}
        more = [sentence for sentence in room if sentence.chunk.id in cited]
        return (await self._offline.reply(question, more)).answerable if more else 0.0


class _Unreadable(ModelError):
    def __init__(self) -> None:
        super().__init__("its answer could not be read")


@dataclass(slots=True)
class _Held:
    """The claims of one question that hold so far, those given up, and how well the book bears them out."""

    room: Workspace
    question: str
    foreign: bool
    claims: list[Claim] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    said: int = 0
    mended: int = 0
    checking: float = 0.0

    @property
    def sentences(self) -> Mapping[str, Sentence]:
        return {sentence.id: sentence for sentence in self.room}

    @property
    def support(self) -> float:
        return sum(self.scores) / len(self.scores) if self.scores else 0.0

    def take(self, said: Sequence[Said]) -> list[tuple[Said, str]]:
        """Keeps the claims that hold; gives the others with the reason."""
        sentences, failed, began = self.sentences, list[tuple[Said, str]](), time.monotonic()
        self.said += len(said)
        for one in said:
            claim, why = self._claim(one, sentences)
            if claim is None:
                failed.append((one, why))
                continue
            support = verify_claim(claim, sentences, given=self.question, opinion=self.room.opinion)
            if not support.supported:
                failed.append((one, "; ".join(support.reasons) or UNSAID))
            elif claim.text not in {kept.text for kept in self.claims}:
                self.claims.append(claim)
                self.scores.append(support.score)
        self.checking += time.monotonic() - began
        return failed

    def _claim(self, one: Said, sentences: Mapping[str, Sentence]) -> tuple[Claim | None, str]:
        cited = " ".join(sentences[id_].text for id_ in one.sentences if id_ in sentences)
        text, why = prompts.presentable(one.text, cited)
        if why:
            return None, why
        if not self.foreign or not foreign(text, cited):
            return Claim(text, one.sentences), ""
        gloss, why = prompts.presentable(one.gloss, cited)
        if why:
            return None, "the claim is not in the book's language and has no gloss that is"
        if not renders(text, gloss, cited):
            return None, "the claim and its gloss do not say the same"
        return GlossedClaim(text, one.sentences, gloss=gloss), ""

    def pointed(self, failed: Sequence[tuple[Said, str]]) -> list[tuple[Said, str]]:
        """The reasons as the model is told them, with the sentence that carries a claim if it named another.

        A small model often says what is true and points beside it. The claim has to come back with that id.
        """
        sentences = self.sentences
        carriers = [self._carrier(one, sentences) for one, _ in failed]
        told = [f'these ids are wrong: {id_} is the sentence for it, write ["{id_}"]' for id_ in carriers]
        return [(one, told[n] if carriers[n] else why) for n, (one, why) in enumerate(failed)]

    def _carrier(self, one: Said, sentences: Mapping[str, Sentence]) -> str:
        for id_ in list(sentences)[:_MOST_TRIED]:
            claim, _ = self._claim(replace(one, sentences=(id_,)), sentences)
            if claim is not None and verify_claim(claim, sentences, given=self.question).supported:
                return id_
        return ""

    def mend(self, failed: Sequence[tuple[Said, str]], mended: Sequence[Said], *, whole: bool) -> None:
        """Takes what the model made of the claims that did not hold. `whole`: none could be read before."""
        before = len(self.claims)
        again = self.take(mended)
        if not whole:
            self.said -= len(mended)
            self.mended = len(self.claims) - before
        self.drop([*failed, *again])

    def drop(self, failed: Sequence[tuple[Said, str]]) -> None:
        self.dropped += [(one.text[: prompts.MOST_TEXT], why) for one, why in failed]


def _foreign(room: Workspace) -> bool:
    return foreign(room.asked, " ".join(sentence.text for sentence in room[:20]))


def _once(room: Workspace) -> Any:
    """Tells the reader when the model begins to write, once."""
    told: list[bool] = []

    def tell() -> None:
        if not told:
            told.append(True)
            room.say("writing")

    return tell


@dataclass(frozen=True, slots=True)
class _Run:
    text: str
    history: list[Any]


async def _run(agent: Agent[Any], message: str | list[Any], *, turns: int) -> _Run:
    """What the model said in the end, and the conversation as it stands."""
    quiet = RunConfig(
        tracing_disabled=True,  # else the SDK sends the conversation to its vendor
        trace_include_sensitive_data=False,
        tool_not_found_behavior="return_error_to_model",
    )
    try:
        result = await Runner.run(agent, message, max_turns=turns, run_config=quiet)
    except ModelRefusalError:
        raise CallFailed("it declined to answer") from None
    except AgentsException as failure:
        if isinstance(failure.__cause__, ModelError):
            raise failure.__cause__ from None
        raise CallFailed("it did not come to an answer") from failure
    said = result.final_output
    return _Run(said if isinstance(said, str) else "", result.to_input_list())


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


class _Claims(AgentOutputSchemaBase):
    """The form that is asked for. The reply is read by `prompts.parse`, whether or not it has the form."""

    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return "claims"

    def json_schema(self) -> dict[str, Any]:
        return dict(prompts.CLAIMS_SCHEMA)

    def is_strict_json_schema(self) -> bool:
        return True

    def validate_json(self, json_str: str) -> Any:
        return json_str


_TRIAL = ("# A trial", "s1: Seven boats were lost in the storm.", "s2: The lamp was lit at dusk.")


async def trial(settings: Settings) -> dict[str, bool]:
    """What the endpoint can do, found out by asking it two small things; raises where it does not answer."""
    endpoint, nonce = Endpoint(settings), secrets.token_hex(4)
    shown, calls = prompts.fenced(_TRIAL, nonce), Calls(1, settings.agent.tool_seconds)

    async def found(given: Mapping[str, Any]) -> str:  # noqa: ARG001
        return shown

    asking = Agent[Any](
        name="trial",
        instructions=prompts.instructions(nonce, tools=False),
        model=Metered(endpoint, endpoint.ledger()),
        output_type=_Claims(),
    )
    searching = Agent[Any](
        name="trial",
        instructions=prompts.instructions(nonce, tools=True),
        model=Metered(endpoint, endpoint.ledger()),
        tools=[tool("search_book", found, calls)],
    )
    question = "Question: How many boats were lost?"
    try:
        run = await _run(asking, f"{question}\n{shown}", turns=1)
        with suppress(ModelError):
            await _run(searching, f"{question} Search the book first.", turns=3)
    finally:
        await endpoint.close()
    return {
        "structured output": bool(prompts.parse(run.text)),
        "tools": calls.made > 0,
        "streaming": "stream" not in endpoint.lacking,
    }
