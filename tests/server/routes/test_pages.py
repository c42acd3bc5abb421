"""The files of the page over real HTTP: what they are, under which policy, and that nothing else is there."""

from __future__ import annotations

import gzip
import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import sleep

import pytest
import uvicorn

from octavo.server.app import make_app
from octavo.server.routes import pages
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.answerers import fill_library
from tests.support.patience import PATIENCE

ELSEWHERE = re.compile(r"""(?:https?:)?//(?!www\.w3\.org)[a-z0-9-]+\.[a-z]""")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    app = make_app(
        Settings(data=fill_library(tmp_path_factory.mktemp("pages") / "library")), embedder=TinyEmbedder()
    )
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        sleep(0.02)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(PATIENCE)


def get(port: int, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    got = connection.getresponse()
    answer = got.status, {name.lower(): value for name, value in got.getheaders()}, got.read()
    connection.close()
    return answer


def test_the_page_obeys_a_policy_that_lets_nothing_in_from_elsewhere(port: int) -> None:
    status, headers, body = get(port, "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = headers["content-security-policy"]
    rules = {
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
        "base-uri 'none'", "connect-src 'self'", "font-src 'self'", "form-action 'none'",
        "frame-ancestors 'none'",
    }  # fmt: skip
    assert rules <= set(policy.split("; "))
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert not re.search(rb"<script(?![^>]*src=)|<style|style=|\son\w+=", body)


def test_every_file_that_the_page_names_is_there_with_its_type(port: int) -> None:
    waiting, seen = (
        ["static/app/main.js", *re.findall(r'(?:href|src)="(static/[^"]+)"', text(port, "/"))],
        set(),
    )
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        status, headers, _ = get(port, f"/{path}")
        assert status == 200, path
        assert headers["content-type"] == pages.TYPES[Path(path).suffix]
        if path.endswith(".js"):
            named = re.findall(r'(?:from |\bimport\()"(\.[^"]+)"', text(port, f"/{path}"))
            waiting += [str(Path("/", path).parent.joinpath(other).resolve()).lstrip("/") for other in named]
    assert {"static/shared/dom.js", "static/app/reader.js", "static/app/page.css"} <= seen
    served = {f"static/{name}" for name in pages.load_files()}
    assert served - seen == {"static/app/index.html"}, "every file is used"


def test_the_page_asks_for_one_script_and_one_style_sheet(port: int) -> None:
    named = re.findall(r'(?:href|src)="static/([^"]+)"', text(port, "/"))
    assert named == ["app/icon.svg", "app/page.css", "app/theme.js", "app/page.js"]
    script = text(port, "/static/app/page.js")
    # Another language is only loaded where it is chosen.
    assert set(re.findall(r'\bimport\("([^"]+)"\)', script)) == {
        f"../strings/app.{language}.js" for language in ("ar", "de", "es", "fr", "ur", "zh")
    }
    assert not re.search(r"^(?:import|export) ", script, re.MULTILINE)
    sheets = ("style", "reading", "markup", "talk", "lists")
    whole = "\n".join((pages.WEB / f"app/{name}.css").read_text(encoding="utf-8") for name in sheets)
    assert text(port, "/static/app/page.css") == whole


def text(port: int, path: str) -> str:
    return get(port, path)[2].decode()


def test_what_has_not_changed_is_not_sent_again(port: int) -> None:
    _, headers, _ = get(port, "/static/app/main.js")
    status, again, body = get(port, "/static/app/main.js", if_none_match=f'"other", W/{headers["etag"]}')
    assert (status, body, again["etag"]) == (304, b"", headers["etag"])
    assert get(port, "/static/app/main.js", if_none_match='"other"')[0] == 200


@pytest.mark.parametrize("path", ["/", "/static/app/main.js", "/static/shared/dom.js", "/widget.js"])
def test_a_file_comes_compressed_where_the_browser_takes_that(port: int, path: str) -> None:
    status, plain, body = get(port, path)
    assert (status, plain.get("content-encoding")) == (200, None)
    status, packed, sent = get(port, path, accept_encoding="gzip, deflate, br")
    assert (status, packed["content-encoding"]) == (200, "gzip")
    assert gzip.decompress(sent) == body
    assert len(sent) < 0.6 * len(body)
    assert int(packed["content-length"]) == len(sent)
    assert "Accept-Encoding" in plain["vary"]
    assert plain["vary"] == packed["vary"]
    assert plain["etag"] != packed["etag"], "two forms, two tags"
    same = ("content-type", "cache-control", "x-content-type-options")
    assert [plain[name] for name in same] == [packed[name] for name in same]


@pytest.mark.parametrize("path", ["/", "/static/app/main.js", "/widget.js"])
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_browser_that_holds_either_form_is_told_that_it_is_current(
    port: int, path: str, encoding: str
) -> None:
    _, headers, _ = get(port, path, accept_encoding=encoding)
    for now in ("gzip", "identity"):
        status, again, body = get(port, path, accept_encoding=now, if_none_match=headers["etag"])
        assert (status, body, again["etag"]) == (304, b"", headers["etag"])
        assert "Accept-Encoding" in again["vary"]
        assert "content-encoding" not in again


@pytest.mark.parametrize(
    "path",
    [
        "/static/", "/static/app", "/static/app/", "/static/app/none.js", "/static/../settings.py",
        "/static/app/../../settings.py", "/static/%2e%2e/settings.py", "/static/app/..%2f..%2fsettings.py",
        "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/static/app/main.js%00.css",
        "/static/app/main.js/", "/static/app\\..\\..\\settings.py", "/static/server/pages.py",
    ],
)  # fmt: skip
def test_no_path_leads_anywhere_else(port: int, path: str) -> None:
    status, headers, body = get(port, path)
    assert (status, headers["content-type"]) == (404, "application/problem+json")
    assert b"Settings" not in body
    assert b"root:" not in body


def test_only_known_kinds_of_files_in_known_folders_are_served(tmp_path: Path) -> None:
    for name in ("app/index.html", "app/main.js", "app/secret.key", "shared/dom.js", "other/x.js", "top.js"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert set(pages.load_files(tmp_path)) == {
        "app/index.html",
        "app/main.js",
        "app/page.css",
        "app/page.js",
        "shared/dom.js",
    }


def test_no_file_of_the_page_names_another_host_or_makes_html_of_text() -> None:
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(",
                 "new Function", "createContextualFragment", "setHTML")  # fmt: skip
    for name, file in pages.load_files().items():
        said = file.body.decode()
        assert not [word for word in forbidden if word in said], name
        assert not ELSEWHERE.search(re.sub(r"/\*.*?\*/", "", said, flags=re.DOTALL)), name
