"""Published files whose values are written as text, CSV and JSON lines, as the columns that Parquet and Arrow have."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike, fspath
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from shoal.column_types import DOUBT, ENDS, OR_MISSING, SEPARATOR, SET
from shoal.errors import InputError
from shoal.policy import Policy

_LABEL = pa.struct([("value", pa.dictionary(pa.int32(), pa.string())), (DOUBT, pa.bool_())])
_CSV, _JSONL, _ARROW = (".csv", ".csv.gz"), (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), (".arrow", ".feather")


class _Form(NamedTuple):
    """How a generalized field is read: the type of its column, its value from a cell of CSV, and from JSON."""

    kind: pa.DataType | None  # None for a time, which is a number or a text
    of_cell: Callable[[str], Any]
    of_json: Callable[[Any], Any]


def read_published(path: str | PathLike[str], policy: Policy | None) -> pa.Table:
    """A file that `shoal run` wrote, or a folder of Parquet files. CSV and JSON lines have no types, and need the policy."""
    name = fspath(path).lower()
    if name.endswith(_ARROW):
        with pa.memory_map(fspath(path)) as file:
            return pa.ipc.open_file(file).read_all()
    if not name.endswith((*_CSV, *_JSONL)):
        return pyarrow.parquet.read_table(path, partitioning=None)
    if policy is None:
        raise InputError("a table in CSV or JSON lines has no types; give its policy too")
    forms = {field: _form(policy, field) for field in policy.generalized}
    return _of_csv(fspath(path), forms) if name.endswith(_CSV) else _of_json_lines(fspath(path), policy, forms)


def _of_csv(path: str, forms: dict[str, _Form]) -> pa.Table:
    as_text = dict.fromkeys(forms, pa.string())
    options = pyarrow.csv.ConvertOptions(column_types=as_text, null_values=[""], strings_can_be_null=True)
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    table = pyarrow.csv.read_csv(path, parse_options=parse, convert_options=options)
    for place, field in enumerate(table.schema.names):
        if field in forms:
            cells = pc.dictionary_encode(table.column(field)).unify_dictionaries().combine_chunks()
            texts = cells.dictionary.to_pylist()
            values = _column(field, forms[field].kind, [_read(field, forms[field].of_cell, text) for text in texts])
            table = table.set_column(place, field, values.take(cells.indices))
    return table


def _of_json_lines(path: str, policy: Policy, forms: dict[str, _Form]) -> pa.Table:
    with pa.input_stream(path) as file:
        records = [json.loads(line) for line in file.read().decode("utf-8").split("\n") if line]
    columns = {}
    for field in policy.published:
        values = [_at(record, field) for record in records]
        if field in forms:
            own = [None if value is None else _read(field, forms[field].of_json, value) for value in values]
            columns[field] = _column(field, forms[field].kind, own)
        else:
            try:
                columns[field] = pa.array(values)
            except pa.ArrowException:  # of several types
                columns[field] = pa.array([None if value is None else json.dumps(value) for value in values])
    return pa.table(columns)


def _at(record: Any, field: str) -> Any:
    """The value of a field, which may be a path of objects inside objects."""
    if isinstance(record, dict) and field not in record and "." in field:
        first, rest = field.split(".", 1)
        return _at(record.get(first), rest)
    return record.get(field) if isinstance(record, dict) else None


def _form(policy: Policy, field: str) -> _Form:
    attribute = policy.attributes.get(field)
    if attribute is not None and attribute.sets:
        return _Form(SET, _set_of_cell, list)
    if attribute is not None and attribute.hierarchy:
        return _Form(_LABEL, _label_of_cell, _label_of_json)
    if attribute is None:
        return _Form(None, _time_of_cell, _time_of_json)
    return _Form(pa.struct([*((end, pa.float64()) for end in ENDS), (DOUBT, pa.bool_())]), _interval_of_cell, _interval_of_json)


def _set_of_cell(text: str) -> list[str | None]:
    return [*text.removesuffix(OR_MISSING).split(SEPARATOR), *([None] if text.endswith(OR_MISSING) else [])]


def _label_of_cell(text: str) -> dict[str, Any]:
    return {"value": text.removesuffix(OR_MISSING), DOUBT: text.endswith(OR_MISSING)}


def _label_of_json(value: Any) -> dict[str, Any]:
    return {"value": value[0], DOUBT: True} if isinstance(value, list) else {"value": value, DOUBT: False}


def _interval_of_cell(text: str) -> dict[str, Any]:
    ends = json.loads(text.removesuffix(OR_MISSING))
    return _interval_of_json([*ends, *([None] if text.endswith(OR_MISSING) else [])])


def _interval_of_json(value: Any) -> dict[str, Any]:
    if not isinstance(value, list):
        raise TypeError
    low, high, *doubt = value
    return {"lo": low, "hi": high, DOUBT: doubt == [None]}


def _time_of_cell(text: str) -> dict[str, Any]:
    return _time_of_json(text[1:-1].split(", "))


def _time_of_json(value: Any) -> dict[str, Any]:
    return dict(zip(ENDS, (end if "T" in end else float(end) for end in map(str, value)), strict=True))


def _read(field: str, form: Callable[[Any], Any], value: Any) -> Any:
    try:
        return form(value)
    except (ValueError, TypeError, AttributeError):
        raise _foreign(field) from None


def _column(field: str, kind: pa.DataType | None, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError):
        raise _foreign(field) from None


def _foreign(field: str) -> InputError:
    return InputError(f"{field}: a value is not written as the policy says (value withheld); give the policy of this output")
