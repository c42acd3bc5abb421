"""Every setting, with its default and its limit in one place.

Settings come from arguments, then from `OCTAVO_…` variables, then from `octavo.toml` in the data
directory, then from the defaults below. Nothing in Octavo reads the environment elsewhere. A value that
breaks its limit, or a name that is no setting, is refused with `InvalidValue`.
"""

from __future__ import annotations

from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from octavo.errors import InvalidValue
from octavo.limits import Limits

FILE = "octavo.toml"


class Settings(BaseSettings):
    """How a library behaves. `Settings()` is a complete, working configuration."""

    model_config = SettingsConfigDict(
        env_prefix="OCTAVO_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    data: Path = Field(default_factory=lambda: default_data(), description="where the library lives")
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
        0.2, gt=0, lt=1, description="most answers that may go to questions which the book does not answer"
    )
    free_space_mb: int = Field(256, ge=0, description="writes stop when less than this is free on the disk")
    limits: Limits = Field(default=Limits(), description="what a file may cost its parser, see `limits`")

    def __init__(self, **values: Any) -> None:
        """Takes the settings above by name; the only place where pydantic's errors become ours."""
        try:
            super().__init__(**values)
        except ValidationError as wrong:
            first = wrong.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            shown = "***" if name == "embedder_key" else first["input"]
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
        path = Path(given.get("data") or default_data()) / FILE
        try:
            toml = TomlConfigSettingsSource(settings_cls, toml_file=path)
        except (TOMLDecodeError, UnicodeDecodeError) as wrong:
            raise InvalidValue(str(path), "must be TOML", str(wrong)) from None
        if "data" in toml():
            raise InvalidValue(f"data in {path}", "must not be set: the file lies there", toml()["data"])
        return init_settings, env_settings, toml


def default_data() -> Path:
    """The XDG data directory of this user."""
    import os

    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "octavo"
