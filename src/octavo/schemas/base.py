"""What all JSON shapes share: how one is built from a value of ours, and how it becomes JSON."""

from __future__ import annotations

from datetime import datetime
from operator import not_
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

Json = dict[str, Any]
T = TypeVar("T")
Time = Annotated[
    datetime,
    PlainSerializer(datetime.isoformat, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class Schema(BaseModel):
    """A JSON object. It has these fields, in this order, and no others."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    @classmethod
    def from_value(cls, value: object, **computed: Any) -> Self:
        """Build the shape from `computed` and, for all other fields, the attributes of `value`."""
        for name in cls.__pydantic_fields__:
            if name not in computed:
                computed[name] = getattr(value, name)
        return cls(**computed)

    def to_json(self) -> Json:
        return self.model_dump(mode="json")


def omit_empty(default: T) -> T:
    """Define a field that is left out of the JSON when it is empty."""
    field: T = Field(default, exclude_if=not_)
    return field
