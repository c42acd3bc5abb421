from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from octavo.errors import InvalidValue
from octavo.limits import Limits
from octavo.settings import VENDORS, Settings, Vendor, find_unknown_variables


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("DATA", "THREADS", "EMBEDDER", "LIMITS", "LIMITS__MAX_PAGES"):
        monkeypatch.delenv(f"OCTAVO_{name}", raising=False)


def test_the_limits_are_the_documented_ones() -> None:
    assert asdict(Settings().limits) == {
        "max_file_mb": 100,
        "max_members": 20_000,
        "max_member_mb": 64,
        "max_expanded_mb": 512,
        "max_ratio": 200,
        "max_pages": 10_000,
        "max_page_chars": 200_000,
        "max_text_mb": 200,
        "max_html_depth": 2_000,
        "max_html_attributes": 1_000,
        "max_html_tag_kb": 64,
        "max_front_matter_kb": 64,
        "max_image_mb": 4,
        "max_images_mb": 64,
        "max_page_pixels": 8_000_000,
        "page_seconds": 10.0,
        "ocr_seconds": 60.0,
        "ocr_pages": 2_000,
        "parser_memory_mb": 2_048,
        "parser_seconds": 60.0,
    }


def test_the_data_directory_is_the_users_own_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Settings().data == tmp_path / "octavo"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings().data == tmp_path / ".local" / "share" / "octavo"


def test_the_data_directory_is_absolute_however_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings(data=Path("hl")).data == tmp_path / "hl"
    monkeypatch.setenv("OCTAVO_DATA", "of-the-variable")
    assert Settings().data == tmp_path / "of-the-variable"
    monkeypatch.delenv("OCTAVO_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", "share")
    assert Settings().data == tmp_path / "share" / "octavo"


def test_arguments_go_before_variables_before_the_file_before_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "octavo.toml").write_text(
        'threads = 3\nembedder = "minilm-fp32"\nchunk_tokens = 128\n[limits]\nmax_pages = 7\nmax_text_mb = 9'
    )
    monkeypatch.setenv("OCTAVO_DATA", str(tmp_path))
    monkeypatch.setenv("OCTAVO_EMBEDDER", "openai:small")
    monkeypatch.setenv("OCTAVO_LIMITS__MAX_PAGES", "5")
    monkeypatch.setenv("OCTAVO_THREADS", "2")
    settings = Settings(threads=1)
    assert (settings.threads, settings.embedder, settings.chunk_tokens) == (1, "openai:small", 128)
    assert (settings.limits.max_pages, settings.limits.max_text_mb) == (5, 9)
    assert (settings.limits.max_members, settings.batch_tokens) == (20_000, 4_096)
    assert Settings(limits=Limits(max_pages=1)).limits == Limits(max_pages=1)


def test_the_file_is_looked_for_where_the_argument_says(tmp_path: Path) -> None:
    (tmp_path / "octavo.toml").write_text("threads = 3\n")
    assert (Settings(data=tmp_path).threads, Settings().threads) == (3, 0)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("THREADS", "many", r"setting threads is refused: .*integer.*; got 'many'"),
        ("CHUNK_TOKENS", "9000", r"setting chunk_tokens .*less than or equal to 256; got '9000'"),
        ("KEEP_DAYS", "36501", r"setting keep_days .*less than or equal to 36500; got '36501'"),
        ("LIMITS__MAX_PAGES", "0", r"Limits\.max_pages must be more than 0"),
        ("LIMITS__MAX_PAGE", "5", r"setting limits\.max_page .*Unexpected"),
        ("LIMITS", "lots", r"settings must be readable; got .*limits"),
    ],
)
def test_a_wrong_variable_is_refused_by_name(
    name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"OCTAVO_{name}", value)
    with pytest.raises(InvalidValue, match=said):
        Settings()


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("thread = 3", r"setting thread is refused: .*not permitted"),
        ("threads = ", r"octavo\.toml must be TOML"),
        ('data = "/elsewhere"', r"must not be set: the file lies there"),
    ],
)
def test_a_wrong_file_is_refused_by_name(toml: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "octavo.toml").write_text(toml)
    with pytest.raises(InvalidValue, match=said):
        Settings(data=tmp_path)


def test_a_key_is_never_shown() -> None:
    assert "secret" not in repr(Settings(embedder_key="secret"))
    with pytest.raises(InvalidValue) as refused:
        Settings(embedder_key=["secret"])
    assert "secret" not in str(refused.value)


@pytest.mark.usefixtures("local_models")
def test_the_models_that_come_along_are_used_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Settings().local_models is True
    monkeypatch.setenv("OCTAVO_LOCAL_MODELS", "false")
    assert Settings().local_models is False


def test_what_is_set_for_one_vendor_is_not_handed_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    usual = Settings(model="gpt-4.1-mini")
    assert (usual.model_key, usual.model_url) == ("sk-open", "http://127.0.0.1:9/v1")
    other = Settings(model="litellm/anthropic/claude")
    assert (other.model_key, other.model_url) == ("", "")
    assert Settings(model="litellm/anthropic/claude", model_key="sk-ant").model_key == "sk-ant"
    (tmp_path / "octavo.toml").write_text('model = "litellm/anthropic/claude"\n')
    assert Settings(data=tmp_path).model_key == ""


def test_variables_in_a_file_count_after_those_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text(
        "OCTAVO_THREADS=3\nOCTAVO_RISK=0.4\nOCTAVO_LIMITS__MAX_PAGES=7\nOPENAI_API_KEY='sk-file'\nOTHER=1\n"
    )
    (tmp_path / "octavo.toml").write_text("threads = 1\nchunk_tokens = 64\n")
    monkeypatch.setenv("OCTAVO_RISK", "0.3")
    settings = Settings(data=tmp_path)
    assert (settings.threads, settings.risk, settings.chunk_tokens) == (3, 0.3, 64)
    assert (settings.limits.max_pages, settings.model_key) == (7, "sk-file")
    (tmp_path / ".env").write_text("OCTAVO_THREADS=many\n")
    with pytest.raises(InvalidValue, match="setting threads"):
        Settings()


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.models[0])
def test_a_vendors_key_is_used_for_its_models_at_its_own_endpoint_only(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name in vendor.keys:
        monkeypatch.setenv(name, "sk-vendor")
        theirs = Settings(model=f"{vendor.models[0]}large")
        assert (theirs.model_url, theirs.model_key) == (vendor.url, "sk-vendor")
        assert Settings(model="gpt-4.1-mini").model_key == "sk-open"
        elsewhere = Settings(model=f"{vendor.models[0]}large", model_url="http://127.0.0.1:9/v1")
        assert elsewhere.model_key == "sk-open"
        monkeypatch.delenv(name)


def test_origins_and_hosts_are_plain_values_between_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_ORIGINS", "https://docs.example.com, http://localhost:3000")
    monkeypatch.setenv("OCTAVO_HOSTS", "books.example.com,")
    settings = Settings()
    assert settings.origins == ("https://docs.example.com", "http://localhost:3000")
    assert settings.hosts == ("books.example.com",)
    monkeypatch.setenv("OCTAVO_ORIGINS", '["https://docs.example.com"]')
    assert Settings().origins == ("https://docs.example.com",)


@pytest.mark.parametrize("origin", ["https://docs.example.com/", "*", "docs.example.com", "https://a.org/b"])
def test_an_origin_that_no_browser_sends_is_told_at_the_start(
    origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_ORIGINS", f"https://good.example.com,{origin}")
    with pytest.raises(InvalidValue, match="origins must be origins such as"):
        Settings()


def test_a_misspelt_variable_is_named_with_the_setting_it_looks_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_unknown_variables() == []
    monkeypatch.setenv("OCTAVO_MODLE", "gpt-4.1-mini")
    monkeypatch.setenv("OCTAVO_SOMETHING_ELSE", "1")
    (tmp_path / ".env").write_text("OCTAVO_ORIGIN=https://a.org\n")
    assert find_unknown_variables() == [
        ("OCTAVO_MODLE", "OCTAVO_MODEL"),
        ("OCTAVO_ORIGIN", "OCTAVO_ORIGINS"),
    ]


@pytest.mark.parametrize("part", ["model", "embedder", "store"])
def test_a_key_of_the_environment_is_not_sent_to_an_address_in_the_folder(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text(f"OCTAVO_{part.upper()}_URL=https://elsewhere.example\n")
    monkeypatch.setenv(f"OCTAVO_{part.upper()}_KEY", "secret")
    with pytest.raises(InvalidValue, match=f"names {part}_url but not {part}_key") as refused:
        Settings()
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["OCTAVO_MODEL_URL", "OPENAI_BASE_URL"])
def test_a_usual_key_does_not_go_to_an_address_in_the_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text(f"OCTAVO_MODEL=some-model\n{name}=https://elsewhere.example\n")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert Settings().model_key == ""
    monkeypatch.setenv(name, "https://mine.example")
    assert Settings().model_key == "secret"
