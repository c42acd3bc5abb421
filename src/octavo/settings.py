"""Every setting, with its default and its limit in one place.

Settings come from arguments, then from `OCTAVO_…` variables, then from `octavo.toml` in the data
directory, then from the defaults below. Nothing in Octavo reads the environment elsewhere.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from octavo.limits import Limits


class Settings(BaseSettings):
    """How a library behaves. `Settings()` is a complete, working configuration."""

    model_config = SettingsConfigDict(
        env_prefix="OCTAVO_", env_nested_delimiter="__", frozen=True, extra="ignore"
    )

    data: Path = Field(default_factory=lambda: default_data(), description="where the library lives")
    embedder: str = Field(
        "minilm-int8",
        description="'minilm-int8', 'minilm-fp32', a sentence-transformers folder, or 'openai:MODEL'",
    )
    embedder_url: str = Field("", description="base URL of an OpenAI-compatible embedding endpoint")
    embedder_key: str = Field("", repr=False, description="key for that endpoint")
    threads: int = Field(0, ge=0, description="threads for the embedder; 0 = one per core")
    batch_tokens: int = Field(4_096, ge=256, description="word pieces embedded at once; bounds memory")
    chunk_tokens: int = Field(160, ge=32, le=256, description="word pieces a chunk aims at")
    free_space_mb: int = Field(256, ge=0, description="writes stop when less than this is free on the disk")
    limits: Limits = Field(default=Limits(), description="what a file may cost its parser, see `limits`")


def default_data() -> Path:
    """The XDG data directory of this user."""
    import os

    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "octavo"
