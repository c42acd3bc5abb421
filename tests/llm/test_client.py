"""Calls of a language model over real HTTP: counted, limited, tried again where that helps, and given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from agents import FunctionTool, ModelSettings, ModelTracing

from octavo.errors import MissingExtra, ModelError
from octavo.limits import AgentLimits
from octavo.llm.client import (
    Breaker,
    BudgetExhausted,
    CallFailed,
    Ledger,
    MeteredModel,
    ModelEndpoint,
    Unsupported,
)
from octavo.llm.prompts import CLAIMS_SCHEMA
from octavo.settings import Settings
from octavo.testing import Fault, FaultKind, ModelRequest, Say, Script, ScriptedModel
from tests.support.patience import PATIENCE


def settings(url: str, *, api: str = "chat", model: str = "some-model", **limits: Any) -> Settings:
    allowed = AgentLimits(**{"call_seconds": PATIENCE, "seconds": PATIENCE, **limits})
    return Settings(
        data=Path("unused"), model=model, model_url=url, model_key="sk-1", model_api=api, agent=allowed
    )


@asynccontextmanager
async def served(script: Script, **limits: Any) -> AsyncIterator[tuple[ScriptedModel, MeteredModel]]:
    async with ScriptedModel(script) as server:
        endpoint = ModelEndpoint(settings(server.url, **limits))
        try:
            yield server, MeteredModel(endpoint, endpoint.ledger())
        finally:
            await endpoint.close()


class Schema:
    """The least that the SDK wants of a form."""

    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return "claims"

    def json_schema(self) -> dict[str, Any]:
        return dict(CLAIMS_SCHEMA)

    def is_strict_json_schema(self) -> bool:
        return True


async def nothing(context: object, arguments: str) -> str:
    return ""


TOOL = FunctionTool("search_book", "Searches.", {"type": "object", "properties": {}}, nothing)


async def said(model: MeteredModel, *, tools: bool = False, schema: bool = False) -> str:
    response = await model.get_response(
        "Be brief.",
        "Is anybody there?",
        ModelSettings(),
        [TOOL] if tools else [],
        Schema() if schema else None,
        [],
        ModelTracing.DISABLED,
        previous_response_id=None,
        conversation_id=None,
        prompt=None,
    )
    (item,) = response.output
    return "".join(part.text for part in item.content)  # type: ignore[union-attr]


def after(*faults: Fault) -> Callable[[ModelRequest], Say | Fault]:
    """Faults first, then a word."""
    waiting = list(faults)
    return lambda _: waiting.pop(0) if waiting else Say("Yes.")


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_an_answer_is_streamed_and_counted(api: str) -> None:
    heard: list[int] = []
    async with ScriptedModel(Say("Yes, somebody is here.")) as server:
        endpoint = ModelEndpoint(settings(server.url, api=api))
        model = MeteredModel(endpoint, endpoint.ledger(), on_text=lambda: heard.append(1))
        assert await said(model) == "Yes, somebody is here."
        await endpoint.close()
        (request,) = server.requests
    assert (request.api, request.stream, request.model) == (api, True, "some-model")
    assert request.headers["authorization"] == "Bearer sk-1"
    assert request.body.get("store") in ((None,) if api == "chat" else (False,)), (
        "nothing is kept at the vendor's"
    )
    assert heard
    ledger = model.ledger
    assert (ledger.turns, ledger.calls) == (1, 1)
    assert ledger.tokens_in > 0
    assert ledger.tokens_out > 0


@pytest.mark.parametrize(
    "kind",
    [
        FaultKind.RATE_LIMITED,
        FaultKind.RATE_LIMITED_BARE,
        FaultKind.SERVER_ERROR,
        FaultKind.UNAVAILABLE,
        FaultKind.CLOSED,
        FaultKind.GARBAGE,
        FaultKind.INVALID_JSON,
        FaultKind.CUT_STREAM,
        FaultKind.EMPTY_BODY,
        FaultKind.EMPTY_CHOICES,
    ],
)
async def test_what_may_pass_is_tried_again(kind: FaultKind) -> None:
    async with served(after(Fault(kind, seconds=0.01))) as (server, model):
        assert await said(model) == "Yes."
        assert len(server.requests) == 2
        assert (model.ledger.turns, model.ledger.calls) == (1, 2)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (FaultKind.UNAUTHORIZED, "refuses the key"),
        (FaultKind.NO_QUOTA, "no quota left"),
        (FaultKind.UNKNOWN_MODEL, "does not know this model"),
    ],
)
async def test_what_will_not_pass_is_not_tried_again(kind: FaultKind, why: str) -> None:
    async with served(Fault(kind)) as (server, model):
        with pytest.raises(CallFailed, match=why):
            await said(model)
        assert len(server.requests) == 1


async def test_after_so_many_tries_it_is_given_up_in_our_own_words() -> None:
    async with served(Fault(FaultKind.SERVER_ERROR), retries=1) as (server, model):
        with pytest.raises(CallFailed) as failed:
            await said(model)
        assert failed.value.message == "the endpoint answers with status 500"
        assert len(server.requests) == 2


async def test_a_server_that_wants_a_longer_wait_than_there_is_time_is_not_waited_for() -> None:
    async with served(Fault(FaultKind.RATE_LIMITED, seconds=300)) as (server, model):
        with pytest.raises(CallFailed, match="busy"):
            await said(model)
        assert len(server.requests) == 1


@pytest.mark.parametrize("kind", [FaultKind.SILENT, FaultKind.STALLED_STREAM])
async def test_a_call_that_takes_too_long_is_hung_up(kind: FaultKind) -> None:
    async with served(Fault(kind), call_seconds=0.3) as (server, model):
        while not server.requests:  # on a slow machine, it may be over before it has begun
            with pytest.raises(CallFailed, match=r"within 0\.3 seconds"):
                await said(model)
        await server.wait_until_idle()
        assert server.abandoned >= 1


async def test_whoever_cancels_closes_the_connection() -> None:
    reached = asyncio.Event()

    def silent(_: ModelRequest) -> Fault:
        reached.set()
        return Fault(FaultKind.SILENT)

    async with served(silent) as (server, model):
        asking = asyncio.create_task(said(model))
        await reached.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.wait_until_idle()
        assert server.abandoned == 1


async def test_an_answer_without_end_is_cut_off() -> None:
    async with served(Say("whale " * 100_000)) as (server, model):
        with pytest.raises(CallFailed, match="too long"):
            await said(model)
        assert len(server.requests) == 1


# What an endpoint cannot do


def refusing(word: str, *, when: Callable[[ModelRequest], bool]) -> Callable[[ModelRequest], Say]:
    def answer(request: ModelRequest) -> Say:
        if when(request):
            raise ValueError(f"this endpoint does not support {word}")  # the server says so with status 400
        return Say("Yes.")

    return answer


@pytest.mark.parametrize(
    ("word", "feature", "when"),
    [
        ("streaming", "stream", lambda r: r.stream),
        ("temperature", "temperature", lambda r: "temperature" in r.body),
        ("response_format", "schema", lambda r: r.response_format is not None),
    ],
)
async def test_what_an_endpoint_does_not_support_is_left_away_from_then_on(
    word: str, feature: str, when: Callable[[ModelRequest], bool]
) -> None:
    async with served(refusing(word, when=when)) as (server, model):
        assert await said(model, schema=True) == "Yes."
        assert await said(model, schema=True) == "Yes."
        assert [when(request) for request in server.requests] == [True, False, False]
        assert model.endpoint.lacking == {feature}
        assert model.ledger.tokens_in > 0


async def test_an_endpoint_without_tools_says_so_at_once() -> None:
    async with ScriptedModel(Say("Yes."), tools=False) as server:
        endpoint = ModelEndpoint(settings(server.url))
        with pytest.raises(Unsupported, match="tools") as refused:
            await said(MeteredModel(endpoint, endpoint.ledger()), tools=True)
        await endpoint.close()
        assert refused.value.feature == "tools"
        assert len(server.requests) == 1


async def test_in_its_last_turn_a_model_gets_no_tools() -> None:
    async with served(Say("Yes."), turns=2) as (server, model):
        await said(model, tools=True)
        await said(model, tools=True)
        assert [r.body.get("tool_choice") for r in server.requests] == [None, "none"]
        with pytest.raises(BudgetExhausted, match="2 turns"):
            await said(model, tools=True)


async def test_a_litellm_name_works_with_litellm_and_without_it_says_what_to_install() -> None:
    if find_spec("litellm") is None:
        with pytest.raises(MissingExtra, match=r"pip install 'octavo\[litellm\]'") as missing:
            ModelEndpoint(settings("", model="litellm/anthropic/claude"))
        assert "without `litellm/`" in missing.value.hint
        return
    for kind, tries in ((FaultKind.UNAUTHORIZED, 1), (FaultKind.NO_QUOTA, 1), (FaultKind.SERVER_ERROR, 3)):
        async with ScriptedModel(Fault(kind)) as server:
            endpoint = ModelEndpoint(settings(server.url, model="litellm/openai/scripted", retries=2))
            with pytest.raises(CallFailed):
                await said(MeteredModel(endpoint, endpoint.ledger()))
            await endpoint.close()
            assert len(server.requests) == tries, kind  # what LiteLLM would try again by itself, it does not


def test_only_the_known_vendors_get_what_only_they_understand() -> None:
    hosted = ModelEndpoint(settings("https://api.openai.com/v1"))
    azure = ModelEndpoint(settings("https://mine.openai.azure.com/openai/v1/"))
    local = ModelEndpoint(settings("http://127.0.0.1:11434/v1"))
    assert (hosted.hosted, azure.hosted, local.hosted) == (True, True, False)
    assert (hosted.settings().store, hosted.settings().temperature) == (False, None)
    assert (local.settings().store, local.settings().temperature) == (None, 0.0)


# Limits and rests


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_ledger_adds_up_and_stops_at_each_limit() -> None:
    limits = AgentLimits(turns=3, tokens=1_000, dollars=0.01, seconds=10)
    clock = Hands()
    ledger = Ledger(limits, 2.0, 8.0, clock=clock)
    ledger.begin_turn(400)
    ledger.tokens_in, ledger.tokens_out = 500, 100
    assert ledger.dollars == pytest.approx(0.0018)
    assert ledger.notes() == {"turns": 1, "calls": 0, "tokens_in": 500, "tokens_out": 100, "dollars": 0.0018}
    with pytest.raises(BudgetExhausted, match="1000 tokens"):
        ledger.begin_turn(4 * 401)
    ledger.tokens_out = 0
    ledger.price_in = 20.0
    with pytest.raises(BudgetExhausted, match=r"0\.01 dollars"):
        ledger.begin_turn(4 * 100)
    ledger.price_in = 0.0
    clock.now += 11
    with pytest.raises(BudgetExhausted, match="10 seconds"):
        ledger.begin_turn(4)
    clock.now -= 11
    ledger.begin_turn(4)
    ledger.begin_turn(4)
    with pytest.raises(BudgetExhausted, match="3 turns"):
        ledger.begin_turn(4)


def test_a_model_that_fails_again_and_again_is_left_alone_and_then_tried_by_one() -> None:
    clock = Hands()
    breaker = Breaker(AgentLimits(failures=2, rest_seconds=30), clock=clock)
    breaker.note(failed=True)
    breaker.note(failed=False)
    breaker.note(failed=True)
    breaker.check()
    breaker.note(failed=True)
    with pytest.raises(ModelError, match="failed 2 times in a row and rests for 30 s"):
        breaker.check()
    clock.now += 31
    breaker.check()
    with pytest.raises(ModelError, match="rests"):
        breaker.check()
    breaker.note(failed=True)
    with pytest.raises(ModelError, match="failed 3 times"):
        breaker.check()
    clock.now += 31
    breaker.check()
    breaker.note(failed=False)
    breaker.check()
    breaker.check()
