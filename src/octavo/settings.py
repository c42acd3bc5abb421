"""Every setting, with its default and its limit in one place.

A setting comes from an argument, else from an `OCTAVO_…` variable, else from `octavo.toml` in `data`,
else (for a language model's address and key) from the names that other programs use, else from the defaults
below. Nothing in Octavo reads the environment elsewhere. A value beyond its limit, or a name that is no
setting, is refused with `InvalidValue`.
"""

from __future__ import annotations

from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from octavo.errors import InvalidValue
from octavo.limits import AgentLimits, Limits, ServiceLimits

FILE = "octavo.toml"
_SECRET = ("embedder_key", "model_key", "store_key", "records_url")


class Settings(BaseSettings):
    """The configuration of a library. `Settings()` is complete and works."""

    model_config = SettingsConfigDict(
        env_prefix="OCTAVO_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    data: Path = Field(default_factory=lambda: find_default_data(), description="where the library lives")
    embedder: str = Field(
        "minilm-int8",
        description="'minilm-int8', 'minilm-fp32', a sentence-transformers folder, or 'openai:MODEL'",
    )
    embedder_url: str = Field("", description="base URL of an OpenAI-compatible embedding endpoint")
    embedder_key: str = Field("", repr=False, description="key for that endpoint")
    threads: int = Field(0, ge=0, description="threads for the embedder; 0 = one per core")
    batch_tokens: int = Field(4_096, ge=256, description="word pieces sent to an endpoint at once")
    chunk_tokens: int = Field(128, ge=32, le=256, description="word pieces a chunk aims at")
    risk: float = Field(
        0.2, gt=0, lt=1, description="share of the answers that may be wrong; lower, fewer are given"
    )
    free_space_mb: int = Field(256, ge=0, description="writes stop when less than this is free on the disk")
    limits: Limits = Field(default=Limits(), description="what a file may cost its parser, see `limits`")

    local_models: bool = Field(True, description="use the ranker, reader and verifier that come with Octavo")

    model: str = Field("", description="language model that answers, e.g. 'gpt-4.1-mini'; '' = quote offline")
    model_url: str = Field("", description="base URL of its OpenAI-compatible endpoint; else OPENAI_BASE_URL")
    model_key: str = Field("", repr=False, description="key for that endpoint; else OPENAI_API_KEY")
    model_mode: Literal["auto", "agent", "single"] = Field(
        "auto", description="'agent' searches with tools, 'single' answers from what was found first"
    )
    model_api: Literal["chat", "responses"] = Field("chat", description="protocol that the endpoint speaks")
    price_in: float = Field(
        0.0, ge=0, description="dollars for a million tokens read, for receipts and limits"
    )
    price_out: float = Field(0.0, ge=0, description="dollars for a million tokens written")
    tracing: bool = Field(False, description="send OpenTelemetry spans of questions, without book text")
    agent: AgentLimits = Field(default=AgentLimits(), description="what a model may cost for one question")

    records_url: str = Field(
        "", repr=False, description="postgresql://user:password@host/name; '' = SQLite in `data`"
    )
    records_pool: int = Field(10, ge=2, le=1000, description="most connections to PostgreSQL at once")
    store_url: str = Field("", description="address of a Qdrant server; '' = the embedded store in `data`")
    store_key: str = Field("", repr=False, description="key for that server")
    collection: str = Field("ai_book_embedding", min_length=1, description="collection on that server")
    store_shards: int = Field(1, ge=1, description="shards of a collection that is made there")
    store_replicas: int = Field(1, ge=1, description="copies of each shard, and how many confirm a write")
    store_on_disk: bool = Field(False, description="keep its vectors on disk rather than in memory")
    store_quantized: bool = Field(False, description="search its vectors as 8-bit integers, then rescore")

    origins: tuple[str, ...] = Field((), description="origins whose pages may call the service")
    hosts: tuple[str, ...] = Field(
        (), description="names under which the service is reached, besides those of this machine"
    )
    keys_required: bool | None = Field(
        None, description="ask every caller for a key; by default only when not on a loopback address"
    )
    service: ServiceLimits = Field(default=ServiceLimits(), description="what a client may cost the server")

    def __init__(self, **values: Any) -> None:
        """Take the settings above by name, and turn pydantic's errors into ours."""
        try:
            super().__init__(**values)
        except ValidationError as wrong:
            first = wrong.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            shown = "***" if name in _SECRET else first["input"]
            raise InvalidValue(f"setting {name}", f"is refused: {first['msg']}", shown) from None
        except SettingsError as wrong:
            raise InvalidValue("settings", "must be readable", str(wrong)) from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        given = {**env_settings(), **init_settings()}
        path = Path(given.get("data") or find_default_data()) / FILE
        try:
            toml = TomlConfigSettingsSource(settings_cls, toml_file=path)
        except (TOMLDecodeError, UnicodeDecodeError) as wrong:
            raise InvalidValue(str(path), "must be TOML", str(wrong)) from None
        if "data" in toml():
            raise InvalidValue(f"data in {path}", "must not be set: the file lies there", toml()["data"])
        model = str(given.get("model") or toml().get("model") or "")
        usual = InitSettingsSource(settings_cls, init_kwargs=_read_usual_names(model))
        return init_settings, env_settings, toml, usual


def _read_usual_names(model: str) -> dict[str, str]:
    """Read what people have set for other programs; it counts when Octavo is given nothing else.

    A model of LiteLLM gets none of it: one vendor's key is not for another, and LiteLLM knows their names.
    """
    import os

    if model.startswith("litellm/"):
        return {}
    names = {"model_url": "OPENAI_BASE_URL", "model_key": "OPENAI_API_KEY"}
    return {setting: os.environ[name] for setting, name in names.items() if os.environ.get(name)}


def find_default_data() -> Path:
    """Return the folder for Octavo in the XDG data directory of this user."""
    import os

    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "octavo"
