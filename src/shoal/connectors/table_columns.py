"""Published batches as the columns of a table: plain types that stay the same for as long as the table lives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shoal.column_types import DOUBT, ENDS, is_json
from shoal.errors import ConnectorError
from shoal.formats import typed_texts

IN_JSON = pa.large_string()  # stands for a column of a table that holds lists and structs as JSON


class Change(NamedTuple):
    """What a batch would do to the columns of a table."""

    added: Sequence[pa.Field] = ()  # columns that the table does not have yet
    missing: Sequence[str] = ()  # columns of the table that get no value any more


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of a table's column: text without a dictionary, ends of intervals as float64, other integers as int64.

    Ends are always float64: a stream of whole numbers may go on with fractions, and a table's column keeps its type.

    >>> plain_type(pa.struct([("lo", pa.int64()), ("hi", pa.int64()), ("or_missing", pa.bool_())]))
    StructType(struct<lo: double, hi: double, or_missing: bool>)
    >>> plain_type(pa.dictionary(pa.int32(), pa.string())), plain_type(pa.uint8()), plain_type(pa.timestamp("ns", "UTC"))
    (DataType(string), DataType(int64), TimestampType(timestamp[us, tz=UTC]))
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_struct(kind):
        is_interval = tuple(field.name for field in kind)[:2] == ENDS
        return pa.struct([(field.name, _end(field) if is_interval else plain_type(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_date(kind):
        return pa.date32()
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind) else kind


def _end(field: pa.Field) -> pa.DataType:
    return pa.float64() if field.name in ENDS and pa.types.is_integer(field.type) else plain_type(field.type)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of a table for batches of a schema; those whose type is not known yet are left out."""
    kinds = {field.name: pa.null() if is_json(field) else plain_type(field.type) for field in schema}
    return pa.schema([(name, kind) for name, kind in kinds.items() if not pa.types.is_null(kind)])


def plain_table(batches: Sequence[pa.RecordBatch], place: str) -> pa.Table:
    """Batches as one table of plain types. A column that has no value in any of them is left out, since its type is unknown."""
    columns: dict[str, pa.ChunkedArray] = {}
    for name in batches[0].schema.names:
        chunks = [batch.column(name) for batch in batches]
        if any(is_json(batch.schema.field(name)) for batch in batches):
            texts = pa.chunked_array([chunk.cast(pa.string()) for chunk in chunks], pa.string()).combine_chunks()
            found = typed_texts(texts)
            chunks = [texts if found is None else found]
        if not (chunks := [_plain(chunk) for chunk in chunks if not pa.types.is_null(chunk.type)]):
            continue
        try:
            kind = pa.unify_schemas([pa.schema([("", chunk.type)]) for chunk in chunks], promote_options="permissive")
            columns[name] = pa.chunked_array([chunk.cast(kind.field(0).type) for chunk in chunks])
        except pa.ArrowException:
            raise _other_type(place, name, chunks[0].type, chunks[-1].type) from None
        if (rows := sum(map(len, batches))) != len(columns[name]):  # some batches had no values yet
            columns[name] = _filled(columns[name].type, [batch.column(name) for batch in batches], rows)
    return pa.table(columns)


def _plain(chunk: pa.Array) -> pa.Array:
    kind = plain_type(chunk.type)
    if pa.types.is_dictionary(chunk.type) and pa.types.is_struct(chunk.type.value_type):
        chunk = chunk.dictionary.take(chunk.indices)
    return chunk if chunk.type == kind else chunk.cast(kind)


def _filled(kind: pa.DataType, chunks: Iterable[pa.Array], rows: int) -> pa.ChunkedArray:
    """Chunks of one type, with nulls for those that have none."""
    return pa.chunked_array(
        [pa.nulls(len(chunk), kind) if pa.types.is_null(chunk.type) else _plain(chunk).cast(kind) for chunk in chunks], kind
    )


def change(known: pa.Schema, new: pa.Schema, names: Sequence[str], place: str) -> Change:
    """What tuples of a schema would do to a table of known columns; `names` are all their fields, typed or not.

    Raises ConnectorError if a column would change its meaning.
    """
    for field in new:
        at = known.get_field_index(field.name)
        if at >= 0 and not _fits(field.type, known.field(at).type):
            raise _other_type(place, field.name, known.field(at).type, field.type)
    return Change(
        [field for field in new if known.get_field_index(field.name) < 0], [name for name in known.names if name not in names]
    )


def fitted(table: pa.Table, known: pa.Schema, place: str) -> pa.Table:
    """A table with the columns of a schema, in its order: missing ones are null, and whole numbers may become floats."""
    columns = []
    for field in known:
        at = table.schema.get_field_index(field.name)
        if at < 0:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
            continue
        column = table.column(at)
        try:
            columns.append(column if column.type == field.type else _cast(column, field.type))
        except pa.ArrowException:
            raise _other_type(place, field.name, field.type, column.type) from None
    return pa.table(columns, schema=known)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if not _fits(column.type, kind):
        raise pa.ArrowInvalid("another kind of value")
    return json_texts(column).cast(kind) if pa.types.is_nested(column.type) and kind == IN_JSON else column.cast(kind)


def json_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    r"""Lists and structs as JSON.

    >>> json_texts(pa.chunked_array([[["Oslo", None], [], None], [['"']]])).to_pylist()
    ['["Oslo", null]', '[]', None, '["\\""]']
    """
    if pa.types.is_list(column.type) and pa.types.is_string(column.type.value_type):
        return pa.chunked_array([_texts_of_lists(chunk) for chunk in column.chunks], pa.string())
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist()]
    return pa.chunked_array([texts], pa.string())


def _texts_of_lists(lists: pa.ListArray) -> pa.StringArray:
    """Lists of texts as JSON; each different text is written once."""
    coded = lists.values.dictionary_encode()
    written = pa.array([json.dumps(text, ensure_ascii=False) for text in coded.dictionary.to_pylist()], pa.string())
    texts = pc.fill_null(written.take(coded.indices), "null")
    inner = pc.binary_join(pa.ListArray.from_arrays(lists.offsets, texts), ", ")
    return pc.if_else(lists.is_valid(), pc.binary_join_element_wise("[", inner, "]", ""), None)


def _fits(kind: pa.DataType, known: pa.DataType) -> bool:
    """Whether values of a type mean the same in a column of a known type. Text takes any plain value."""
    if kind == known:
        return True
    if known == IN_JSON:
        return pa.types.is_nested(kind)
    if pa.types.is_string(known):
        return not pa.types.is_nested(kind)
    if pa.types.is_struct(kind) and pa.types.is_struct(known):
        names = [field.name for field in kind]
        return names == [field.name for field in known] and all(
            _fits(kind.field(name).type, known.field(name).type) for name in names
        )
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(known):
        return (kind.tz is None) == (known.tz is None)
    return bool(pa.types.is_floating(known) and pa.types.is_integer(kind))


def _other_type(place: str, name: str, known: pa.DataType, new: pa.DataType) -> ConnectorError:
    return ConnectorError(
        f"{place}: {name!r} is {_told(known)} there, and would be {_told(new)}; a column never changes its meaning: "
        "name another table, or publish it under another name"
    )


def _told(kind: pa.DataType) -> str:
    return "JSON" if kind == IN_JSON else str(kind)


def flat_table(table: pa.Table) -> pa.Table:
    """A table without structs: `age_lo`, `age_hi` and `age_or_missing`, or `city` and `city_or_missing`.

    >>> flat_table(pa.table({"age": [{"lo": 30.0, "hi": 40.0, "or_missing": True}, None]})).to_pydict()
    {'age_lo': [30.0, None], 'age_hi': [40.0, None], 'age_or_missing': [True, False]}
    """
    columns: list[tuple[str, pa.Array]] = []
    for name in table.schema.names:
        columns += _parts(name, table.column(name).combine_chunks())
    return pa.table([column for _, column in columns], [name for name, _ in columns])


def flat_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of a flat table."""
    return flat_table(schema.empty_table()).schema


def _parts(name: str, column: pa.Array) -> Iterable[tuple[str, pa.Array]]:
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if not pa.types.is_struct(column.type) or not _is_published(column.type):
        return [(name, column)]
    parts: list[tuple[str, pa.Array]] = []
    for field, part in zip(column.type, column.flatten(), strict=True):
        part = pc.fill_null(part, False) if field.name == DOUBT else part
        parts += _parts(name if field.name == "value" else f"{name}_{field.name}", part)
    return parts


def _is_published(kind: pa.StructType) -> bool:
    """Whether a struct is a generalized value, and not one that is passed through."""
    names = tuple(field.name for field in kind)
    return names[:2] == ENDS or names[0] == "value"
