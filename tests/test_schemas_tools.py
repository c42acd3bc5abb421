"""What the MCP tools return is a part of what HTTP returns: the same names with the same types."""

from __future__ import annotations

import types
from typing import get_args, get_origin

import pytest
from pydantic import BaseModel

from octavo.schemas import AnsweredJson, CitationJson, EvidenceJson, SectionJson, TaggedBookJson, VerdictJson
from octavo.schemas.answers import NearestJson, RefusalJson
from octavo.schemas.tools import (
    ToolAnswer,
    ToolBook,
    ToolCitation,
    ToolNearest,
    ToolPassage,
    ToolRefusal,
    ToolSection,
    ToolVerdict,
)

PARTS: dict[type[BaseModel], type[BaseModel]] = {
    ToolBook: TaggedBookJson,
    ToolSection: SectionJson,
    ToolNearest: NearestJson,
    ToolPassage: EvidenceJson,
    ToolCitation: CitationJson,
    ToolRefusal: RefusalJson,
    ToolAnswer: AnsweredJson,
    ToolVerdict: VerdictJson,
}


def wire(annotation: object) -> object:
    """The type of a field as JSON sees it, with the tools' shapes replaced by those they are a part of."""
    if get_origin(annotation) in (list, types.UnionType):
        return (get_origin(annotation), frozenset(wire(part) for part in get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return PARTS.get(annotation, annotation)
    if get_args(annotation):
        return str
    return str if isinstance(annotation, type) and issubclass(annotation, str) else annotation


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_a_tool_returns_the_fields_of_the_whole_shape(part: type[BaseModel]) -> None:
    whole = PARTS[part].model_fields
    for name, field in part.model_fields.items():
        if (part, name) != (ToolAnswer, "session_id"):
            assert wire(field.annotation) == wire(whole[name].annotation), name
