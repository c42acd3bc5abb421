"""Calls a language model at any OpenAI-compatible endpoint, within the limits of one question.

All questions share a `ModelEndpoint`: the client, the features that the endpoint turned out not to support,
and a circuit breaker. A `MeteredModel` is the model of one question as the Agents SDK sees it. Every call is
counted, timed and streamed. Status 429, 5xx and broken connections are retried with jitter; a wrong key or an
empty account is not. Every failure becomes a `ModelError` in our words, because readers must not see what a
vendor writes into its errors.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import openai
from agents import Model, ModelSettings
from agents.items import ModelResponse
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel
from agents.usage import Usage

from octavo.errors import ModelError, require_extra
from octavo.llm.prompts import MOST_REPLY

if TYPE_CHECKING:
    from octavo.limits import AgentLimits
    from octavo.settings import Settings

OPENAI = "https://api.openai.com/v1"
LITELLM = "litellm/"
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 8.0
# Characters of a token, roughly, if the endpoint does not count tokens.
_CHARACTERS = 4
_NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_FEATURES = (
    ("tools", ("tool", "function call")),
    ("schema", ("response_format", "json_schema", "json schema", "structured", "grammar")),
    ("temperature", ("temperature",)),
    ("stream", ("stream",)),
)
Clock = Callable[[], float]


class CallFailed(ModelError):
    """A call failed. `again` if a retry may help, after `wait` seconds if that is known."""

    code = "model_call_failed"

    def __init__(self, message: str, *, again: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.again, self.wait = again, wait


class Unsupported(ModelError):
    """The endpoint does not support a feature: "tools", "schema", "temperature" or "stream"."""

    code = "model_unsupported"

    def __init__(self, feature: str) -> None:
        super().__init__(f"the endpoint does not support {feature}")
        self.feature = feature


class BudgetExhausted(ModelError):
    """The question has reached the limit of turns, tokens, dollars or seconds."""

    code = "model_exhausted"


@dataclass(slots=True)
class Ledger:
    """Counts what one question has cost so far, and stops it at the limits."""

    limits: AgentLimits
    price_in: float = 0.0
    price_out: float = 0.0
    clock: Clock = time.monotonic
    turns: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def dollars(self) -> float:
        return (self.tokens_in * self.price_in + self.tokens_out * self.price_out) / 1e6

    @property
    def seconds_left(self) -> float:
        return self.limits.seconds - (self.clock() - self.began)

    def begin_turn(self, size: int) -> None:
        """Begin a turn with a prompt of `size` characters, or raise `BudgetExhausted`."""
        limits, prompt = self.limits, size // _CHARACTERS
        if self.turns >= limits.turns:
            raise BudgetExhausted(f"it came to no answer in {limits.turns} turns")
        if self.tokens_in + self.tokens_out + prompt > limits.tokens:
            raise BudgetExhausted(f"it needed more than {limits.tokens} tokens")
        if self.dollars + prompt * self.price_in / 1e6 > limits.dollars:
            raise BudgetExhausted(f"it needed more than {limits.dollars:g} dollars")
        if self.seconds_left <= 0:
            raise BudgetExhausted(f"it took longer than {limits.seconds:g} seconds")
        self.turns += 1

    def notes(self) -> dict[str, object]:
        """Return what goes on the receipt."""
        spent = {
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "dollars": round(self.dollars, 6),
        }
        return {"turns": self.turns, "calls": self.calls, **spent}


class Breaker:
    """A circuit breaker: allows no calls for a while after too many failures in a row, then one question."""

    def __init__(self, limits: AgentLimits, *, clock: Clock = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._failures, self._until = 0, 0.0

    def check(self) -> None:
        """Raise while no calls are allowed."""
        left = self._until - self._clock()
        if left > 0:
            raise CallFailed(f"the model failed {self._failures} times in a row and rests for {left:.0f} s")
        if self._failures >= self._limits.failures:
            # All but the question that tries now have to wait.
            self._until = self._clock() + self._limits.rest_seconds

    def note(self, *, failed: bool) -> None:
        self._failures = self._failures + 1 if failed else 0
        rests = failed and self._failures >= self._limits.failures
        self._until = self._clock() + self._limits.rest_seconds if rests else 0.0


class ModelEndpoint:
    """The model that the settings name. All questions share it as long as the library is open."""

    def __init__(self, settings: Settings) -> None:
        url = settings.model_url or OPENAI
        host = urlsplit(url).hostname or ""
        self.name, self.limits = settings.model, settings.agent
        self.prices = settings.price_in, settings.price_out
        self.litellm = settings.model.startswith(LITELLM)
        self.hosted = not self.litellm and (host == "api.openai.com" or host.endswith(".azure.com"))
        """Whether this is a vendor's service that accepts tools and a schema together."""
        self.stored = self.hosted or settings.model_api == "responses"
        self.lacking: set[str] = set()
        self.breaker = Breaker(settings.agent)
        self._client = openai.AsyncOpenAI(
            base_url=url,
            api_key=settings.model_key or "none",
            max_retries=0,
            timeout=settings.agent.call_seconds,
        )
        self.model = _make_model(settings, self._client)

    def ledger(self) -> Ledger:
        return Ledger(self.limits, *self.prices)

    async def close(self) -> None:
        await self._client.close()

    def settings(self) -> ModelSettings:
        """Return what every call asks for: temperature 0, counted tokens, nothing stored by the vendor."""
        return ModelSettings(
            temperature=None if self.hosted or "temperature" in self.lacking else 0.0,
            store=False if self.stored else None,
            include_usage=True,
            # We retry ourselves.
            extra_args={"max_retries": 0} if self.litellm else None,
            response_include=["reasoning.encrypted_content"] if self.hosted else None,
        )


def _make_model(settings: Settings, client: openai.AsyncOpenAI) -> Model:
    name = settings.model
    if name.startswith(LITELLM):
        url, key = settings.model_url or None, settings.model_key or None
        other: Model = load_litellm()(model=name.removeprefix(LITELLM), base_url=url, api_key=key)
        return other
    if settings.model_api == "responses":
        return OpenAIResponsesModel(model=name, openai_client=client)
    return OpenAIChatCompletionsModel(model=name, openai_client=client)


def load_litellm() -> Any:
    """Import the model class of LiteLLM. It must not fetch prices from the internet or write to stderr.

    Takes seconds the first time: call it through `concurrency.run_blocking`.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    require_extra("litellm", hint="Or name a model without `litellm/`.")
    adapter: Any = import_module("agents.extensions.models.litellm_model")
    adapter.litellm.suppress_debug_info, adapter.litellm.telemetry = True, False
    return adapter.LitellmModel


class MeteredModel(Model):
    """The model for one question. Counts, times and retries calls, and calls `on_text` while it writes."""

    def __init__(
        self, endpoint: ModelEndpoint, ledger: Ledger, *, on_text: Callable[[], None] | None = None
    ) -> None:
        self.endpoint, self.ledger = endpoint, ledger
        self.last_turn = ledger.limits.turns
        """From this turn on the model gets no more tools and has to answer."""
        self._on_text = on_text

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,
        model_settings: ModelSettings,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **rest: Any,
    ) -> ModelResponse:
        """Take one turn, with retries if they may help."""
        size = len(system_instructions or "") + len(
            input if isinstance(input, str) else json.dumps(input, default=str)
        )
        self.ledger.begin_turn(size)
        failures = 0
        while True:
            lacking = self.endpoint.lacking
            settings = model_settings.resolve(self.endpoint.settings())
            if tools and self.ledger.turns >= self.last_turn:
                settings.tool_choice = "none"
            schema = None if "schema" in lacking else output_schema
            call = (system_instructions, input, settings, tools, schema, handoffs, tracing)
            try:
                return await self._call(call, rest, size)
            except Unsupported as missing:
                if missing.feature in lacking or missing.feature == "tools":
                    raise
                lacking.add(missing.feature)
            except CallFailed as failed:
                failures += 1
                if not failed.again or failures > self.ledger.limits.retries:
                    raise
                await self._wait(failures, failed)

    async def _wait(self, failures: int, failed: CallFailed) -> None:
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failures - 1))
        wait = (
            longest * random.uniform(0.5, 1.0)
            if failed.wait is None
            else failed.wait * random.uniform(1.0, 1.1)
        )
        if wait >= self.ledger.seconds_left:
            raise failed
        await asyncio.sleep(wait)

    async def _call(self, call: tuple[Any, ...], rest: dict[str, Any], size: int) -> ModelResponse:
        most = min(self.ledger.limits.call_seconds, max(0.001, self.ledger.seconds_left))
        self.ledger.calls += 1
        try:
            async with asyncio.timeout(most):
                if "stream" in self.endpoint.lacking:
                    return self._count(await self.endpoint.model.get_response(*call, **rest), size)
                return self._count(await self._stream(call, rest), size)
        except ModelError:
            raise
        except TimeoutError:
            raise CallFailed(f"it did not answer within {most:.3g} seconds") from None
        except Exception as error:
            raise translate_error(error, tools=bool(call[3]), schema=call[4] is not None) from error

    async def _stream(self, call: tuple[Any, ...], rest: dict[str, Any]) -> ModelResponse:
        length, final, items = 0, None, []
        async with aclosing(self.endpoint.model.stream_response(*call, **rest)) as events:  # type: ignore[type-var]
            async for event in events:
                written = getattr(event, "delta", None)
                if isinstance(written, str):
                    length += len(written)
                    if length > MOST_REPLY:
                        raise CallFailed("its answer was far too long")
                    if event.type == "response.output_text.delta" and self._on_text:
                        self._on_text()
                elif event.type == "response.output_item.done":
                    items.append(event.item)
                elif event.type == "response.completed":
                    final = event.response
                elif event.type in ("response.failed", "response.incomplete", "error"):
                    raise CallFailed("its answer was cut short")
        if final is None:
            raise CallFailed("its answer broke off", again=True)
        usage, used = Usage(requests=1), final.usage
        if used is not None:
            usage = _make_usage(used.input_tokens, used.output_tokens)
        return ModelResponse(output=final.output or items, usage=usage, response_id=None)

    def _count(self, response: ModelResponse, size: int) -> ModelResponse:
        written = sum(len(item.model_dump_json()) for item in response.output)
        if not response.usage.total_tokens:
            response.usage = _make_usage(size // _CHARACTERS, written // _CHARACTERS)
        self.ledger.tokens_in += response.usage.input_tokens
        self.ledger.tokens_out += response.usage.output_tokens
        if not any(_has_content(item) for item in response.output):
            raise CallFailed("its answer was empty", again=True)
        return response

    def stream_response(self, *call: Any, **rest: Any) -> Any:
        raise NotImplementedError("a metered model streams by itself")


def _make_usage(read: int, written: int) -> Usage:
    return Usage(requests=1, input_tokens=read, output_tokens=written, total_tokens=read + written)


def _has_content(item: Any) -> bool:
    if item.type == "message":
        return any(getattr(part, "text", "") or getattr(part, "refusal", "") for part in item.content)
    return bool(item.type == "function_call")


def translate_error(error: Exception, *, tools: bool, schema: bool) -> ModelError:
    """Translate an error of the client library."""
    if isinstance(error, openai.APITimeoutError):
        return CallFailed("it did not answer in time")
    if isinstance(error, openai.APIStatusError):
        return _translate_status(error, tools=tools, schema=schema)
    if isinstance(error, openai.APIConnectionError):
        return CallFailed("it cannot be reached", again=True)
    return CallFailed("its answer could not be read", again=True)


def _is_out_of_quota(error: BaseException | None) -> bool:
    """Whether the account has no quota left. LiteLLM keeps the reason in the error that caused its own."""
    while error is not None:
        if getattr(error, "code", None) in _NO_MONEY:
            return True
        error = error.__cause__ or error.__context__
    return False


def _translate_status(error: openai.APIStatusError, *, tools: bool, schema: bool) -> ModelError:
    status = error.status_code
    if status in (401, 403):
        return CallFailed(f"the endpoint refuses the key (status {status})")
    if status == 429:
        if _is_out_of_quota(error):
            return CallFailed("the account has no quota left (status 429)")
        return CallFailed("the endpoint is too busy (status 429)", again=True, wait=_retry_after(error))
    said = f"{error.message} {error.body}".lower()
    sent = {"tools": tools, "schema": schema, "temperature": True, "stream": True}
    # A llama.cpp without templates says "jinja".
    refused = status in (400, 404, 405, 422, 501) or "jinja" in said
    for feature, words in _FEATURES if refused else ():
        if sent[feature] and any(word in said for word in words):
            return Unsupported(feature)
    if status == 404:
        return CallFailed("the endpoint does not know this model (status 404)")
    again = status in (408, 409) or status >= 500
    return CallFailed(f"the endpoint answers with status {status}", again=again, wait=_retry_after(error))


def _retry_after(error: openai.APIStatusError) -> float | None:
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "")))
    except ValueError:
        return None
