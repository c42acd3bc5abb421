"""Answers with a language model, and says nothing that the book does not support.

The model searches and reads a `Workspace` with tools, or, if the endpoint does not support tools, answers
at once from what was found first. Its claims are cleaned, and checked against the sentences that they name.
In the place of a doubtful claim stand its sentences. The model may correct those that do not hold once;
after that they are dropped. The probability that the book answers at all is estimated from the evidence, as
offline, and never by the model. If the model fails for whatever reason, the offline answer takes its place
and says so.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agents import Agent, AgentOutputSchemaBase, RunConfig, Runner
from agents.exceptions import AgentsException, ModelRefusalError

from octavo.answers.orders import OrderKind, read_order
from octavo.answers.replies import Reply
from octavo.answers.requests import PartRequest, read_reply_language, read_request
from octavo.concurrency import run_blocking
from octavo.errors import ModelError
from octavo.llm import prompts
from octavo.llm.client import BudgetExhausted, CallFailed, Ledger, MeteredModel, ModelEndpoint, Unsupported
from octavo.llm.confidence import estimate_confidence, measure_answer
from octavo.llm.prompts import ModelClaim
from octavo.llm.tools import ToolBudget, make_tool, make_tools
from octavo.llm.ways import describe_way
from octavo.text.language import is_foreign, is_translation
from octavo.verification.claims import Claim, GlossedClaim
from octavo.verification.gate import cite_carrier, decide, quote_claim

if TYPE_CHECKING:
    from octavo.answers.offline import OfflineAnswerer
    from octavo.answers.turns import Turn
    from octavo.answers.workspace import Workspace
    from octavo.settings import Settings
    from octavo.verification.claims import Sentence

NOTHING_HELD = "none of what the model said is borne out by the book"


class ModelAnswerer:
    """Answers one question with the language model. All questions share the endpoint."""

    def __init__(self, settings: Settings, endpoint: ModelEndpoint, offline: OfflineAnswerer) -> None:
        self.name = settings.model
        self._mode, self._risk = settings.model_mode, settings.model_risk
        self._endpoint, self._offline = endpoint, offline
        self._ledger = endpoint.ledger()

    async def rewrite(self, question: str, turns: Sequence[Turn], sample: str) -> str | None:
        """Complete a question, in the language of `sample`. Returns None if the model does not help."""
        nonce = secrets.token_hex(4)
        instructions, message = prompts.build_rewrite(question, turns, sample=sample, nonce=nonce)
        reply = await write_text(self._endpoint, self._ledger, instructions, message)
        if reply is None:
            return None
        return prompts.parse_rewrite(reply, question, turns, translated=bool(sample))

    async def reply(self, question: str, workspace: Workspace) -> Reply:
        """Return the model's claims that hold, or the offline answer if the model fails."""
        quoted = await self._offline.reply(question, workspace)
        order = read_order(question) if workspace.is_selection else None
        translates = order is not None and order.kind is OrderKind.TRANSLATE
        foreign = translates or _is_foreign(workspace) or bool(read_reply_language(workspace.asked)[1])
        checker = _ClaimChecker(workspace, question, foreign=foreign, risk=self._risk)
        calls = ToolBudget(self._endpoint.limits.tool_calls, self._endpoint.limits.tool_seconds)
        try:
            mode = await self._ask(order.words if order else question, workspace, checker, calls)
        except ModelError as failure:
            return self._fall_back(quoted, failure.message, checker, calls)
        if checker.said and not checker.claims:
            return self._fall_back(quoted, NOTHING_HELD, checker, calls)
        sure = await self._estimate(question, workspace, checker, quoted, is_order=order is not None)
        notes = {"mode": mode, "tool_calls": calls.made, "gathered": len(workspace.evidence)}
        return Reply(
            tuple(checker.claims),
            answerable=max(quoted.answerable, sure.answerable),
            confidence=sure.confidence,
            features=quoted.features,
            dropped=tuple(checker.dropped),
            checking=checker.checking,
            readers=quoted.readers,
            short=None if checker.foreign else quoted.short,
            notes={"name": self.name, **notes, **sure.notes, **checker.notes(), **self._ledger.notes()},
        )

    async def _estimate(
        self, question: str, workspace: Workspace, checker: _ClaimChecker, quoted: Reply, *, is_order: bool
    ) -> _Estimate:
        """Estimate how likely it is that the cited passages answer, and that the claims are right."""
        if is_order:
            # A passage that the reader chose needs not answer anything.
            return _Estimate(1.0, checker.support)
        there = await self._reply_from_cited(question, workspace, checker)
        if isinstance(read_request(question), PartRequest):
            # The gist of a part answers no question by itself, so it is as sure as the offline one.
            cited = max(there.answerable, quoted.confidence)
            return _Estimate(cited, cited * checker.support)
        if not quoted.readers or checker.foreign:
            # The weights were fitted with the local models, on answers in the book's language.
            return _Estimate(there.answerable, there.answerable * checker.support)
        measures = measure_answer(checker.claims, checker.scores, checker.sentences, quoted, there)
        return _Estimate(there.answerable, estimate_confidence(measures), {"measures": measures})

    def _fall_back(self, quoted: Reply, why: str, checker: _ClaimChecker, calls: ToolBudget) -> Reply:
        """Return the offline answer, marked as such with the reason."""
        notes = {"name": self.name, "failed": why, "tool_calls": calls.made, **checker.notes()}
        return replace(
            quoted,
            answerer=f"offline, because {why}",
            dropped=tuple(checker.dropped),
            checking=checker.checking,
            notes={**notes, **self._ledger.notes()},
        )

    async def _ask(
        self, question: str, workspace: Workspace, checker: _ClaimChecker, calls: ToolBudget
    ) -> str:
        """Let the model answer, and return the mode in which it did."""
        breaker = self._endpoint.breaker
        breaker.check()
        try:
            async with asyncio.timeout(max(0.001, self._ledger.seconds_left)):
                mode = await self._try_modes(question, workspace, checker, calls)
        except TimeoutError:
            breaker.note(failed=True)
            raise BudgetExhausted(f"it took longer than {self._endpoint.limits.seconds:g} seconds") from None
        except ModelError:
            breaker.note(failed=True)
            raise
        breaker.note(failed=False)
        return mode

    async def _try_modes(
        self, question: str, workspace: Workspace, checker: _ClaimChecker, calls: ToolBudget
    ) -> str:
        if self._mode == "single" or (self._mode == "auto" and "tools" in self._endpoint.lacking):
            await self._converse(question, workspace, checker, None)
            return "single"
        try:
            await self._converse(question, workspace, checker, calls)
        except (Unsupported, _Unreadable) as failure:
            if isinstance(failure, Unsupported):
                self._endpoint.lacking.add(failure.feature)
            if self._mode == "agent":
                raise
            await self._converse(question, workspace, checker, None)
            return "single"
        return "agent"

    async def _converse(
        self, question: str, workspace: Workspace, checker: _ClaimChecker, calls: ToolBudget | None
    ) -> None:
        """Hold one conversation: question, searches, claims, and one correction of those that do not hold."""
        nonce, limits = secrets.token_hex(4), self._endpoint.limits
        model = MeteredModel(self._endpoint, self._ledger, on_text=_report_writing(workspace))
        # The last turn is for corrections.
        model.last_turn = max(1, limits.turns - 1)
        with_schema = calls is None or self._endpoint.hosted
        agent = Agent[Any](
            name="librarian",
            instructions=prompts.build_instructions(nonce, tools=calls is not None),
            model=model,
            tools=list(make_tools(workspace, calls, nonce=nonce)) if calls else [],
            output_type=_ClaimsSchema() if with_schema else None,
        )
        where = workspace.bounds.description
        own = [s for s in workspace if workspace.bounds.touches(s.chunk, s.start, s.end)]
        besides = [sentence for sentence in workspace if sentence not in own]
        _, language = read_reply_language(workspace.asked)
        message = prompts.build_question(
            workspace.asked,
            question,
            own,
            besides=besides,
            where=where,
            nonce=nonce,
            language=language,
            way="" if workspace.is_selection else describe_way(question),
        )
        run = await _run(agent, message, turns=limits.turns)
        said = prompts.parse_claims(run.text)
        failed = [] if said is None else await run_blocking(checker.accept, said)
        if said is not None and not failed:
            return
        workspace.report("mending", "the form" if said is None else f"{len(failed)} of {len(said)} claims")
        try:
            correction = _user_message(prompts.build_correction(failed))
            again = await _run(agent, [*run.history, correction], turns=limits.turns)
        except ModelError:
            if said is None:
                raise _Unreadable from None
            checker.drop(failed)
            return
        mended = prompts.parse_claims(again.text)
        if said is None and mended is None:
            raise _Unreadable
        await run_blocking(checker.accept_corrections, failed, mended or [], whole=said is None)

    async def _reply_from_cited(self, question: str, workspace: Workspace, checker: _ClaimChecker) -> Reply:
        """Answer offline from the cited passages alone."""
        cited = {checker.sentences[id_].chunk.id for claim in checker.claims for id_ in claim.sentences}
        more = [sentence for sentence in workspace if sentence.chunk.id in cited]
        if not more:
            return Reply((), 0.0, 0.0)
        return await self._offline.reply(question, more, deep=workspace.deep)


@dataclass(frozen=True, slots=True)
class _Estimate:
    answerable: float
    confidence: float
    notes: Mapping[str, object] = field(default_factory=dict)


class _Unreadable(ModelError):
    def __init__(self) -> None:
        super().__init__("its answer could not be read")


@dataclass(slots=True)
class _ClaimChecker:
    """Collects the claims of one question that hold, those that do not, and how well they are supported."""

    workspace: Workspace
    question: str
    foreign: bool
    risk: float
    claims: list[Claim] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    said: int = 0
    mended: int = 0
    quoted: int = 0
    checking: float = 0.0

    @property
    def sentences(self) -> Mapping[str, Sentence]:
        return {sentence.id: sentence for sentence in self.workspace}

    @property
    def support(self) -> float:
        return sum(self.scores) / len(self.scores) if self.scores else 0.0

    def notes(self) -> dict[str, int]:
        """Count the claims that the model corrected, and those in whose place the book is quoted."""
        return {"mended": self.mended, "quoted": self.quoted}

    def accept(self, said: Sequence[ModelClaim]) -> list[tuple[ModelClaim, str]]:
        """Keep the claims that hold, quote the doubtful ones, and return the others with the reason."""
        sentences, failed, began = self.sentences, list[tuple[ModelClaim, str]](), time.monotonic()
        self.said += len(said)
        for one in said:
            claim, why = self._make_claim(one, sentences)
            if claim is None:
                failed.append((one, why))
                continue
            recite = partial(self._recite, one, sentences)
            claim = cite_carrier(claim, sentences, recite=recite, given=self.question)
            ruling = decide(
                claim, sentences, given=self.question, opinions=self.workspace.opinions, risk=self.risk
            )
            if ruling.decision == "drop":
                failed.append((one, ruling.reason))
            elif ruling.decision == "quote":
                self.quoted += 1
                self._add(quote_claim(claim, sentences, beside=self.claims), ruling.support.score)
            else:
                self._add([claim], ruling.support.score)
        self.checking += time.monotonic() - began
        return failed

    def _add(self, claims: Iterable[Claim], score: float) -> None:
        for claim in claims:
            if claim.text not in {kept.text for kept in self.claims}:
                self.claims.append(claim)
                self.scores.append(score)

    def _recite(self, one: ModelClaim, sentences: Mapping[str, Sentence], id_: str) -> Claim | None:
        """Make the claim anew with one sentence, so that all that is compared with it is compared again."""
        claim, _ = self._make_claim(replace(one, sentences=(id_,)), sentences)
        return claim

    def _make_claim(self, one: ModelClaim, sentences: Mapping[str, Sentence]) -> tuple[Claim | None, str]:
        cited = " ".join(sentences[id_].text for id_ in one.sentences if id_ in sentences)
        text, why = prompts.clean_claim(one.text, cited)
        if why:
            return None, why
        if not self.foreign or not is_foreign(text, cited):
            return Claim(text, one.sentences), ""
        gloss, why = prompts.clean_claim(one.gloss, cited)
        if why:
            return None, "the claim is not in the book's language and has no gloss that is"
        if not is_translation(text, gloss, cited):
            return None, "the claim and its gloss do not say the same"
        return GlossedClaim(text, one.sentences, gloss=gloss), ""

    def accept_corrections(
        self, failed: Sequence[tuple[ModelClaim, str]], mended: Sequence[ModelClaim], *, whole: bool
    ) -> None:
        """Check the corrected claims. `whole`: the first reply could not be read at all."""
        before = len(self.claims)
        again = self.accept(mended)
        if not whole:
            self.said -= len(mended)
            self.mended = len(self.claims) - before
        self.drop([*failed, *again])

    def drop(self, failed: Sequence[tuple[ModelClaim, str]]) -> None:
        told = {text for text, _ in self.dropped}
        for text, why in ((one.text[: prompts.MOST_TEXT], why) for one, why in failed):
            if text not in told:
                self.dropped.append((text, why))
                told.add(text)


def _is_foreign(workspace: Workspace) -> bool:
    return is_foreign(workspace.asked, " ".join(sentence.text for sentence in workspace[:20]))


def _report_writing(workspace: Workspace) -> Any:
    """Return a callback that reports, once, that the model has begun to write."""
    reported: list[bool] = []

    def report() -> None:
        if not reported:
            reported.append(True)
            workspace.report("writing")

    return report


@dataclass(frozen=True, slots=True)
class _RunResult:
    text: str
    history: list[Any]


async def write_question(endpoint: ModelEndpoint, passage: str) -> str | None:
    """Write a question that a passage answers. Returns None if the model does not help."""
    instructions, message = prompts.build_examination(passage, nonce=secrets.token_hex(4))
    reply = await write_text(endpoint, endpoint.ledger(), instructions, message)
    return None if reply is None else prompts.parse_question(reply)


async def write_text(endpoint: ModelEndpoint, ledger: Ledger, instructions: str, message: str) -> str | None:
    """Return what the model writes in one turn without tools, or None if it does not answer in time."""
    try:
        endpoint.breaker.check()
        async with asyncio.timeout(max(0.001, ledger.seconds_left)):
            agent = Agent[Any](
                name="writing", instructions=instructions, model=MeteredModel(endpoint, ledger)
            )
            return (await _run(agent, message, turns=1)).text
    except (ModelError, TimeoutError):
        # If the model is down, the answer will say so.
        return None


async def _run(agent: Agent[Any], message: str | list[Any], *, turns: int) -> _RunResult:
    """Run the agent. Returns what the model said last, and the conversation so far."""
    quiet = RunConfig(
        # Otherwise the SDK sends the conversation to its vendor.
        tracing_disabled=True,
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
    return _RunResult(said if isinstance(said, str) else "", result.to_input_list())


def _user_message(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


class _ClaimsSchema(AgentOutputSchemaBase):
    """The schema that is asked for. `prompts.parse_claims` reads the reply, whether or not it follows it."""

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


_PROBE_LINES = ("# A trial", "s1: Seven boats were lost in the storm.", "s2: The lamp was lit at dusk.")


async def probe_endpoint(settings: Settings) -> dict[str, bool]:
    """Find out what the endpoint supports by two small requests. Raises if it does not answer."""
    endpoint, nonce = ModelEndpoint(settings), secrets.token_hex(4)
    shown, calls = prompts.mark_as_book_text(_PROBE_LINES, nonce), ToolBudget(1, settings.agent.tool_seconds)

    async def found(given: Mapping[str, Any]) -> str:  # noqa: ARG001
        return shown

    asking = Agent[Any](
        name="trial",
        instructions=prompts.build_instructions(nonce, tools=False),
        model=MeteredModel(endpoint, endpoint.ledger()),
        output_type=_ClaimsSchema(),
    )
    searching = Agent[Any](
        name="trial",
        instructions=prompts.build_instructions(nonce, tools=True),
        model=MeteredModel(endpoint, endpoint.ledger()),
        tools=[make_tool("search_book", found, calls)],
    )
    question = "Question: How many boats were lost?"
    try:
        run = await _run(asking, f"{question}\n{shown}", turns=1)
        with suppress(ModelError):
            await _run(searching, f"{question} Search the book first.", turns=3)
    finally:
        await endpoint.close()
    return {
        "structured output": bool(prompts.parse_claims(run.text)),
        "tools": calls.made > 0,
        "streaming": "stream" not in endpoint.lacking,
    }
