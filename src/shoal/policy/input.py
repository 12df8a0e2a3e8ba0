"""How the input is written: facts that a policy declares, so that nothing is guessed while a stream flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema, model_validator

from shoal.config import FrozenModel, Name, refusal
from shoal.date_text import problem
from shoal.dialect import QUOTE, Dialect
from shoal.number_text import THOUSANDS, Marks

NONE = "none"
_OR = " or "


def _separator(value: object) -> str:
    value = "\t" if value in ("tab", "\\t") else value
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in "\r\n\"'" or value.isalnum():
        raise refusal('is not one mark between fields; write it like ";" or "\\t"')
    return value


def _quote(value: object) -> str:
    if value in (NONE, ""):
        return ""
    if value not in ('"', "'"):
        raise refusal("is not allowed; use '\"', \"'\" or none")
    return str(value)


def _encoding(value: object) -> object:
    known = {"utf8": "utf-8", "utf16": "utf-16", "latin1": "latin-1", "iso-8859-1": "latin-1", "windows-1252": "cp1252"}
    return known.get(value.lower(), value.lower()) if isinstance(value, str) else value


def _thousands(value: object) -> str:
    if value in (NONE, ""):
        return ""
    if value not in THOUSANDS:
        raise refusal('is not a mark between thousands; use ",", ".", " " or "\'"')
    return str(value)


def _header(value: object) -> tuple[str, ...]:
    if value is True:
        return ()
    if not isinstance(value, list | tuple) or not value:
        raise refusal("is not a list of names; list the names of the columns if the file has none, like [pid, age]")
    names = tuple(value)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise refusal("holds something that is no name; quote it")
    if len(set(names)) < len(names):
        raise refusal("names two columns alike; rename one of them")
    return names


def _form(value: object) -> str:
    if not isinstance(value, str):
        raise refusal("is not text; write it like dd.mm.yyyy")
    form = value.strip()
    if _OR in form:
        first, _, second = form.partition(_OR)
        raise refusal(f"is ambiguous: the values fit {first} and {second}; keep the one that is meant")
    found = problem(form)
    if found:
        raise refusal(found)
    return form


def _fields(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise refusal("is not a list of fields; write it like [note]")
    return tuple(value)


Separator = Annotated[str, PlainValidator(_separator), WithJsonSchema({"type": "string"})]
Quote = Annotated[str, PlainValidator(_quote), WithJsonSchema({"enum": ['"', "'", NONE]})]
Encoding = Annotated[Literal["utf-8", "utf-16", "cp1252", "latin-1"], BeforeValidator(_encoding)]
Thousands = Annotated[str, PlainValidator(_thousands), WithJsonSchema({"enum": [*THOUSANDS[:4], NONE]})]
Header = Annotated[
    tuple[str, ...],
    PlainValidator(_header),
    WithJsonSchema({"anyOf": [{"const": True}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
Form = Annotated[str, PlainValidator(_form), WithJsonSchema({"type": "string"})]


class Input(FrozenModel):
    """How the input is written. The defaults are plain UTF-8, commas, points, ISO 8601.

    >>> Input(separator=";", decimal=",").marks
    Marks(decimal=',', thousands='')
    """

    separator: Separator | None = Field(
        default=None, description='the mark between the fields of a CSV, such as ";"; default a comma, in .tsv a tab'
    )
    quote: Quote = Field(default=QUOTE, description="the mark around values that hold a separator; none: nothing is quoted")
    encoding: Encoding = Field(
        default="utf-8", description="the encoding of text: utf-8, utf-16 with a byte order mark, cp1252 or latin-1"
    )
    decimal: Literal[".", ","] = Field(default=".", description="the decimal mark of numbers in text")
    thousands: Thousands = Field(default="", description="the mark between thousands; default none")
    header: Header = Field(default=(), description="the names of a CSV's columns, if its first line is a record")
    sheet: Name | None = Field(default=None, description="the sheet of a workbook; default the first")
    times: dict[Name, Form] = Field(
        default={},
        description="the form of fields with times that are not ISO 8601, such as {birth: dd.mm.yyyy, ts: ms}",
    )
    optional: Annotated[tuple[Name, ...], BeforeValidator(_fields)] = Field(
        default=(), description="fields of the policy that the input may lack"
    )

    @model_validator(mode="after")
    def _fits(self) -> Input:
        if self.thousands and self.thousands == self.decimal:
            raise refusal(("thousands", f"is the decimal mark {self.decimal!r} too; change one of them"))
        if self.separator is not None and self.separator == self.quote:
            raise refusal(("quote", "is the separator too; change one of them"))
        return self

    @property
    def dialect(self) -> Dialect:
        """What a reader of files has to know."""
        return Dialect(self.separator or "", self.quote, self.encoding, self.header, self.sheet or "")

    @property
    def marks(self) -> Marks:
        """The marks of numbers that are written as text."""
        return Marks(self.decimal, self.thousands)

    def plain(self) -> dict[str, Any]:
        """What differs from the defaults, for a digest."""
        return self.model_dump(exclude_defaults=True)


USUAL = Input()


def nulls_by_field(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A mapping of fields to texts, as it is written; raises if a field has no name."""
    for key in value:
        if not isinstance(key, str) or not key.strip():
            raise refusal("has a key that is no field; quote it")
    return value
