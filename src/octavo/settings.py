"""Every setting, with its default and its limit in one place.

A setting comes from an argument, else from an `OCTAVO_…` variable, else from such a variable in the file
`.env` of the current folder, else from `octavo.toml` in `data`, else (for a language model's address and key)
from the names that other programs use, else from the defaults below. Apart from the address and port of
`octavo serve`, nothing in Octavo reads the environment elsewhere. A value beyond its limit, or a name that is
no setting, is refused with `InvalidValue`.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from octavo import validation
from octavo.errors import InvalidValue
from octavo.limits import AgentLimits, Limits, ServiceLimits, SiteLimits

FILE = "octavo.toml"
ENV_FILE = ".env"
PREFIX = "OCTAVO_"
AUTO = "auto"
"""The setting that leaves to Octavo which embedder a book gets."""
LONGEST_KEPT_DAYS = 36_500
_SECRET = ("embedder_key", "model_key", "store_key", "records_url")


class Vendor(NamedTuple):
    """A vendor of language models: how its models' names begin, its endpoint, the variables for its key."""

    models: tuple[str, ...]
    url: str
    keys: tuple[str, ...]


VENDORS = (
    Vendor(
        ("gemini-", "gemma-"),
        "https://generativelanguage.googleapis.com/v1beta/openai/",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    Vendor(("command-",), "https://api.cohere.ai/compatibility/v1", ("COHERE_API_KEY", "CO_API_KEY")),
    Vendor(
        ("mistral-", "ministral-", "codestral-", "magistral-"),
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
    ),
)


def _split_list(value: object) -> object:
    """Read a plain text as values between commas. A JSON list is read as such."""
    import json

    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return tuple(json.loads(value))
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _check_origins(value: object) -> object:
    origins = _split_list(value)
    for origin in origins if isinstance(origins, list | tuple) else ():
        validation.check_origin("setting origins", origin)
    return origins


TextList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_list)]
OriginList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_check_origins)]


class Settings(BaseSettings):
    """The configuration of a library. `Settings()` is complete and works."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    # Only an absolute path can be told from other words, and hidden from strangers, wherever it is named.
    data: Annotated[Path, AfterValidator(Path.absolute)] = Field(
        default_factory=lambda: find_default_data(), description="where the library lives"
    )
    embedder: str = Field(
        AUTO,
        description="'auto' (by the language of each book), 'english', 'multilingual', 'minilm-fp32', a "
        "sentence-transformers folder, or 'openai:MODEL'",
    )
    embedder_url: str = Field("", description="base URL of an OpenAI-compatible embedding endpoint")
    embedder_key: str = Field("", repr=False, description="key for that endpoint")
    threads: int = Field(0, ge=0, description="threads for the embedder; 0 = one per core")
    batch_tokens: int = Field(4_096, ge=256, description="word pieces sent to an endpoint at once")
    chunk_tokens: int = Field(128, ge=32, le=256, description="word pieces a chunk aims at")
    risk: float = Field(
        0.2, gt=0, lt=1, description="share of the answers that may be wrong; lower, fewer are given"
    )
    model_risk: float = Field(
        0.01,
        ge=0,
        lt=1,
        description="share of a language model's false claims that may pass; 0 = rules by words only",
    )
    free_space_mb: int = Field(256, ge=0, description="writes stop when less than this is free on the disk")
    check_per_minute: int = Field(
        2_000,
        ge=0,
        description="passages that the running service compares with the records each minute; 0 = none",
    )
    answer_unrecorded: bool = Field(
        False, description="answer without a record when the disk is too full to write one"
    )
    keep_days: int = Field(
        0,
        ge=0,
        le=LONGEST_KEPT_DAYS,
        description="days after which questions and answers are deleted; 0 = never",
    )
    log_questions: bool = Field(
        True, description="list questions without a good answer for the author, see `octavo gaps`"
    )
    gap_days: int = Field(
        180, ge=1, le=LONGEST_KEPT_DAYS, description="days after which a question leaves that list"
    )
    keep_quotations: bool = Field(
        True, description="keep what old answers quote of a book when the book is removed"
    )
    limits: Limits = Field(default=Limits(), description="what a file may cost its parser, see `limits`")
    sites: SiteLimits = Field(default=SiteLimits(), description="how web sites are fetched, see `limits`")
    ocr: Literal["auto", "off"] = Field(
        "auto", description="read scanned pages of PDFs with Tesseract where it is installed"
    )
    ocr_languages: TextList = Field(
        (),
        description="languages of scans by Tesseract's names, e.g. 'eng,deu'; '' = that of the book",
    )
    private_sites: bool = Field(
        False, description="also fetch sites at addresses of this machine and of private networks"
    )

    local_models: bool = Field(True, description="use the ranker, reader and verifier that come with Octavo")
    reader: Literal["large", "small", "off"] = Field(
        "large", description="which of the local models reads passages to answer a question"
    )

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
    store_url: str = Field(
        "",
        description="address of a Qdrant server, or several of one cluster between commas; '' = the embedded "
        "store in `data`",
    )
    store_key: str = Field("", repr=False, description="key for that server")
    collection: str = Field("ai_book_embedding", min_length=1, description="collection on that server")
    store_shards: int = Field(1, ge=1, description="shards of a collection that is made there")
    store_replicas: int = Field(1, ge=1, description="copies of each shard")
    store_quorum: int = Field(
        0, ge=0, description="copies that must confirm a write; 0 = more than half of them"
    )
    store_on_disk: bool = Field(False, description="keep its vectors on disk rather than in memory")
    store_quantized: bool = Field(False, description="search its vectors as 8-bit integers, then rescore")

    origins: OriginList = Field((), description="origins whose pages may call the service")
    hosts: TextList = Field(
        (), description="names under which the service is reached, besides those of this machine"
    )
    keys_required: bool | None = Field(
        None, description="ask every caller for a key; by default only when not on a loopback address"
    )
    public_read: TextList = Field(
        (),
        description="books that anyone may ask and search without a key, by id or title; 'all' = every one",
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
        variables = _read_env_file()
        dotenv = _EnvFileSource(settings_cls, variables)
        given = {**dotenv(), **env_settings(), **init_settings()}
        path = Path(given.get("data") or find_default_data()) / FILE
        try:
            toml = TomlConfigSettingsSource(settings_cls, toml_file=path)
        except (TOMLDecodeError, UnicodeDecodeError) as wrong:
            raise InvalidValue(str(path), "must be TOML", str(wrong)) from None
        if "data" in toml():
            raise InvalidValue(f"data in {path}", "must not be set: the file lies there", toml()["data"])
        model = str(given.get("model") or toml().get("model") or "")
        placed = bool(given.get("model_url") or toml().get("model_url"))
        _refuse_mixed_keys(dotenv(), env_settings(), init_settings())
        from_file = "model_url" in dotenv() and "model_url" not in {**env_settings(), **init_settings()}
        names = _read_usual_names(model, variables, placed=placed, from_file=from_file)
        usual = InitSettingsSource(settings_cls, init_kwargs=names)
        return init_settings, env_settings, dotenv, toml, usual


class _EnvFileSource(EnvSettingsSource):
    """The settings among the variables of a file. Those of other programs are left alone."""

    def __init__(self, settings_cls: type[BaseSettings], variables: Mapping[str, str]) -> None:
        self._variables = {name.lower(): value for name, value in variables.items()}
        super().__init__(settings_cls)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return dict(self._variables)


def _read_env_file() -> dict[str, str]:
    """Read the variables in `.env` of the current folder."""
    from dotenv import dotenv_values

    try:
        values = dotenv_values(ENV_FILE, interpolate=False)
    except (OSError, UnicodeDecodeError) as wrong:
        raise InvalidValue(ENV_FILE, "must be readable", str(wrong)) from None
    return {name: value for name, value in values.items() if value is not None}


def read_variables() -> dict[str, str]:
    """Read the variables of the environment, and those that only `.env` of the current folder has."""
    import os

    return {**_read_env_file(), **os.environ}


def _refuse_mixed_keys(file: Mapping[str, object], *trusted: Mapping[str, object]) -> None:
    """Refuse to send a key of the environment to an address that a file in the current folder names."""
    known = {name for source in trusted for name in source}
    for part in ("model", "embedder", "store"):
        address, key = f"{part}_url", f"{part}_key"
        if address in file and address not in known and key in known:
            rule = (
                f"names {address} but not {key}: a key from elsewhere is not sent to an address in this file"
            )
            raise InvalidValue(ENV_FILE, rule, str(file[address]))


def _read_usual_names(
    model: str, variables: Mapping[str, str], *, placed: bool, from_file: bool = False
) -> dict[str, str]:
    """Read what people have set for other programs; it counts when Octavo is given nothing else.

    A model of LiteLLM gets none of it: one vendor's key is not for another, and LiteLLM knows their names.
    For the same reason a vendor's own key counts only for its models and at its endpoint: not if an address
    is given (`placed`). If the address comes from the file (`from_file`), so must the key.
    """
    import os

    if model.startswith("litellm/"):
        return {}
    from_file = from_file or ("OPENAI_BASE_URL" in variables and "OPENAI_BASE_URL" not in os.environ)
    known = dict(variables) if from_file else {**variables, **os.environ}
    vendor = next((v for v in VENDORS if model.startswith(v.models)), None)
    key = next((known[name] for name in vendor.keys if known.get(name)), "") if vendor else ""
    if vendor and key and not placed:
        return {"model_url": vendor.url, "model_key": key}
    names = {"model_url": "OPENAI_BASE_URL", "model_key": "OPENAI_API_KEY"}
    return {setting: known[name] for setting, name in names.items() if known.get(name)}


def find_unknown_variables() -> list[tuple[str, str]]:
    """Find `OCTAVO_…` variables that are no setting but look like one, each with the one it looks like."""
    import os

    known = [name.upper() for name in (*Settings.model_fields, "host", "port")]
    given = {
        name.removeprefix(PREFIX): name for name in (*os.environ, *_read_env_file()) if PREFIX in name[:7]
    }
    unknown = [short for short in sorted(given) if short.upper().split("__")[0] not in known]
    near = {short: get_close_matches(short.upper(), known, n=1, cutoff=0.75) for short in unknown}
    return [(given[short], PREFIX + near[short][0]) for short in unknown if near[short]]


def find_default_data() -> Path:
    """Return the folder for Octavo in the XDG data directory of this user."""
    import os

    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return (Path(base) / "octavo").absolute()
