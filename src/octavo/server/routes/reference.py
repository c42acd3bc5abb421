"""`/docs`: the API's reference for people, made from its OpenAPI description.

A plain page without scripts: it needs no network and loads nothing from other sites.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
STYLE = """
:root { color-scheme: light dark; }
body { font: 1.05rem/1.55 Georgia, 'Iowan Old Style', serif; max-width: 46rem; }
body { margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.05rem; margin: 2.2rem 0 .3rem; overflow-wrap: anywhere; }
code, pre, h2 { font-family: ui-monospace, Consolas, monospace; }
pre { padding: .8rem 1rem; overflow-x: auto; border: 1px solid; border-radius: .4rem; font-size: .85rem; }
b { display: inline-block; min-width: 4.2rem; }
summary { cursor: pointer; }
"""

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def show_reference(request: Request) -> HTMLResponse:
    page = write_page(request.app.openapi())
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


def write_page(api: Mapping[str, Any]) -> str:
    """Write the whole page. Every text of the description is escaped."""
    title = escape(f"{api['info']['title']} {api['info']['version']}")
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<style>{STYLE}</style><h1>{title}</h1><p>{escape(api['info'].get('description', ''))}</p>",
        "<p>For programs: <a href='/openapi.json'>/openapi.json</a>. Back to the <a href='/'>books</a>.</p>",
    ]
    for path, operations in api["paths"].items():
        for method, operation in operations.items():
            parts += _write_operation(method, path, operation, api)
    return "\n".join(parts)


def _write_operation(
    method: str, path: str, operation: Mapping[str, Any], api: Mapping[str, Any]
) -> Iterator[str]:
    yield f"<h2><b>{escape(method.upper())}</b> {escape(path)}</h2>"
    said = operation.get("description") or operation.get("summary", "")
    yield f"<p>{escape(said)}</p>"
    given = [f"<code>{escape(p['name'])}</code> ({escape(p['in'])})" for p in operation.get("parameters", ())]
    if given:
        yield f"<p>Takes {', '.join(given)}.</p>"
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield _write_details(f"Body, {kind}", _resolve_reference(content.get("schema", {}), api))
    codes = ", ".join(
        f"{escape(code)} {escape(r.get('description', ''))}" for code, r in operation["responses"].items()
    )
    yield f"<p>Answers: {codes}.</p>"


def _resolve_reference(schema: Any, api: Mapping[str, Any]) -> Any:
    """Return the schema that this one refers to, or this one."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return api.get("components", {}).get("schemas", {}).get(name, schema) if name else schema


def _write_details(title: str, value: Any) -> str:
    text = escape(json.dumps(value, indent=1, ensure_ascii=False))
    return f"<details><summary>{escape(title)}</summary><pre>{text}</pre></details>"
