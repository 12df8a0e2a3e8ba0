"""Records to codes: an Arrow batch becomes the arrays of a `Batch` (`blocks.batch`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.causes import category_cause, number_cause, time_cause
from shoal.column_types import is_json
from shoal.columns.budget import Budget
from shoal.columns.convert import (
    LATEST,
    coded,
    column,
    numbers,
    plain,
    texts,
    texts_of_json,
    times,
    unreadable,
    year_numbers,
)
from shoal.columns.fingerprint import fingerprints, one_word
from shoal.columns.floats import only_used, take_floats
from shoal.columns.periods import time_type
from shoal.columns.rejection import Rejection, Rejections
from shoal.columns.stable import StableValues
from shoal.columns.time_bounds import TimeBounds
from shoal.compiled import kernel
from shoal.date_text import iso_days
from shoal.path import ABSENT, in_record
from shoal.policy import Attribute, Policy, canonical

_OWN = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOOKED_AT = 200  # wrong values of a batch whose likely cause is looked for
UNREADABLE = "bytes that are not UTF-8 (value withheld); give text"
_NO_NUMBER = "not a number (value withheld)"
_IS_TEXT = "is it text? (quasi: categorical)"
_NO_LEAF = "not in its hierarchy (value withheld)"
_NO_DATE = "not a date (value withheld)"
_RETYPED = "not of the type that it had before (value withheld); give one type throughout"
_EXACT = 2**53  # float64 represents every whole number up to this one


class Encoded(NamedTuple):
    """The accepted records, encoded, and the reasons why others were rejected."""

    values: NDArray[np.float64]  # one row per quasi-identifier: a number or a leaf; NaN is missing
    pattern: NDArray[np.uint64]  # bit q: the record has quasi-identifier q
    person: NDArray[np.uint64]  # two words per record
    time: NDArray[np.float64]
    sensitive: NDArray[np.uint64]  # one row per record: fingerprints of the attributes with a demand (l or t); 0 is missing
    kept: pa.RecordBatch  # the columns that are passed through
    rows: NDArray[np.int64]  # the row number of each accepted record
    whole: NDArray[np.bool_]  # by quasi-identifier: whether it can be published in whole numbers
    rejected: list[Rejection]


class Plain(NamedTuple):
    """The quasi-identifiers of one record, encoded without a batch."""

    values: NDArray[np.float64]  # one row per quasi-identifier
    whole: NDArray[np.bool_]


class Encoder:
    """Checks records against a policy and encodes those that pass.

    With `typed`, a field that is passed through must keep its type, since its values are buffered in one column. With a
    `budget`, records beyond it are left out, or lose their sensitive values.
    """

    def __init__(
        self, policy: Policy, key: NDArray[np.uint64], typed: bool = False, bounds: TimeBounds | None = None,
        budget: Budget | None = None,
    ) -> None:  # fmt: skip
        self._policy, self._bounds, self._budget = policy, bounds, budget
        self._stable = StableValues(policy)
        self._key = key
        self._typed = typed
        self._kinds: dict[str, pa.DataType] = {}  # the known types of the fields that are passed through
        self._whole = [_has_whole_ends(attribute) for _, attribute in policy.quasi]

    def plain(self, record: Mapping[str, Any]) -> Plain | None:
        """The quasi-identifiers of a record, if each is missing, a number inside its range, or a label of its hierarchy; None
        if one of them needs the checks of `encode`."""
        policy, quasi = self._policy, self._policy.quasi
        found = Plain(np.empty((len(quasi), 1)), np.zeros(len(quasi), bool))
        for q, (name, attribute) in enumerate(quasi):
            value = in_record(record, name)
            kind = type(value)
            code: float | None = None
            if value is None or value is ABSENT:
                code = np.nan
            elif attribute.part or name in policy.input.times:
                return None
            elif attribute.hierarchy is not None:
                code = attribute.hierarchy.code.get(value) if kind is str and value not in policy.nulls_of(name) else None
            elif (kind is int or kind is float) and attribute.low <= value <= attribute.high and abs(value) <= _EXACT:
                code = float(value)
            if code is None:
                return None
            found.values[q, 0] = code
            found.whole[q] = self._whole[q] and kind is not float and kind is not str
        return found

    def encode(self, batch: pa.RecordBatch, rows: NDArray[np.int64], plain: Plain | None = None) -> Encoded:
        """With `plain`, the batch holds one record, without its quasi-identifiers."""
        policy, size = self._policy, batch.num_rows
        rejections = Rejections(size)
        batch = self._stable.replaced(batch)
        person = self._persons(batch, rows, rejections)
        time = event_times(batch, policy, rejections)
        values, whole = plain or self._quasi(batch, rejections)
        pattern = np.zeros(size, np.uint64)
        _mark_present(values, pattern)
        kept, sensitive = self._kept(batch, rejections), self._sensitive(batch)
        if self._bounds and policy.time:
            self._bounds.check(time, policy.time.field, rejections)
        if self._budget is not None:
            kept = self._within(self._budget, kept, sensitive, person, time, rejections)
        accepted = rejections.accepted
        if not accepted.all():
            values = np.ascontiguousarray(values[:, accepted])
            pattern, person, time, sensitive = pattern[accepted], person[accepted], time[accepted], sensitive[accepted]
            kept = kept.filter(pa.array(accepted)) if kept.num_columns else kept
        kept = self._stable.with_persons(kept, person)
        if self._typed:
            kept = self._of_known_types(kept) if size and not accepted.any() else kept
            self.remember(kept.schema)
        kept = pa.RecordBatch.from_arrays([only_used(array) for array in kept.columns], schema=kept.schema)
        return Encoded(values, pattern, person, time, sensitive, kept, rows[accepted], whole, rejections.listed(rows))

    def _within(
        self, budget: Budget, kept: pa.RecordBatch, sensitive: NDArray[np.uint64], person: NDArray[np.uint64],
        time: NDArray[np.float64], rejections: Rejections,
    ) -> pa.RecordBatch:  # fmt: skip
        """Leave out the records beyond the budget, or blank their sensitive values."""
        accepted = rejections.accepted
        beyond = np.zeros(len(time), bool)
        beyond[accepted] = budget.beyond(person[accepted], time[accepted])
        if budget.releases.beyond == "drop":
            rejections.leave_out(beyond)
        elif beyond.any():
            sensitive[beyond] = 0
            rows = pa.array(np.arange(len(time)), mask=beyond)
            for name in (name for name, attribute in self._policy.attributes.items() if attribute.sensitive):
                place = kept.schema.get_field_index(name)
                kept = kept.set_column(place, kept.schema.field(place), kept.column(place).take(rows))
        return kept

    def _quasi(self, batch: pa.RecordBatch, rejections: Rejections) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The values of all quasi-identifiers, and which of them can be published in whole numbers."""
        quasi = self._policy.quasi
        values, whole = np.empty((len(quasi), batch.num_rows)), np.zeros(len(quasi), bool)
        for q, (name, attribute) in enumerate(quasi):
            encode, array = self._leaves if attribute.hierarchy else self._numbers, column(batch, name)
            encode(name, attribute, array, values[q], rejections)
            whole[q] = self._whole[q] and (pa.types.is_integer(array.type) or pa.types.is_null(array.type))
        return values, whole

    def remember(self, schema: pa.Schema) -> None:
        """Later values of these fields must have these types, or wider ones."""
        for field in schema:
            self._kinds[field.name] = _together(self._kinds.get(field.name, pa.null()), field.type) or field.type

    def _of_known_types(self, kept: pa.RecordBatch) -> pa.RecordBatch:
        """An empty batch of the known types: rejected records do not decide a type."""
        fields = [field.with_type(self._kinds.get(field.name, pa.null())) for field in kept.schema]
        return pa.RecordBatch.from_pylist([], pa.schema(fields))

    def _kept(self, batch: pa.RecordBatch, rejections: Rejections) -> pa.RecordBatch:
        columns = {name: column(batch, name) for name in self._policy.passed}
        schema = pa.schema([field_of(batch, name).with_type(array.type) for name, array in columns.items()])
        time, grid = self._policy.time, self._policy.time_grid
        if time and grid:  # its groups say what a tuple shows: only the type is passed through
            kind = pa.string() if time.field in self._policy.input.times else columns[time.field].type
            columns[time.field] = pa.nulls(batch.num_rows, time_type(kind, grid))
            schema = schema.set(0, pa.field(time.field, columns[time.field].type))
        for i, name in enumerate(columns):
            known = self._kinds.get(name, pa.null())
            array = columns[name] = _coded_as(known, columns[name])
            if _together(known, array.type) is None:
                rejections.add(array.is_valid().to_numpy(zero_copy_only=False), name, _RETYPED)
                columns[name] = pa.nulls(len(array), known)
            schema = schema.set(i, schema.field(i).with_type(columns[name].type))
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)

    def _sensitive(self, batch: pa.RecordBatch) -> NDArray[np.uint64]:
        names = [requirement.name for requirement in self._policy.requirements]
        out = np.zeros((batch.num_rows, len(names)), np.uint64)
        for a, name in enumerate(names):
            array = column(batch, name)
            array = texts_of_json(array) if is_json(field_of(batch, name)) else array
            out[:, a] = one_word(_with_unreadable(array, texts(array, self._policy.nulls_of(name))), self._key)
        return out

    def _persons(self, batch: pa.RecordBatch, rows: NDArray[np.int64], rejections: Rejections) -> NDArray[np.uint64]:
        if self._policy.person is None:
            return _own(rows)
        array = column(batch, self._policy.person)
        text = texts(array, self._policy.nulls_of(self._policy.person))
        person = fingerprints(text, self._key)
        if text.null_count:
            missing = text.is_null().to_numpy(zero_copy_only=False)
            person[missing] = _own(rows[missing])
            rejections.add(unreadable(array), self._policy.person, UNREADABLE)
            if self._policy.person_missing == "reject":
                reason = "the person is missing; give one or set person_missing: own"
                rejections.add(missing, self._policy.person, reason)
        return person

    def _numbers(
        self, name: str, attribute: Attribute, array: pa.Array, out: NDArray[np.float64], rejections: Rejections
    ) -> None:
        nulls, written = self._policy.nulls_of(name), self._policy.input
        if attribute.part:
            values, wrong = year_numbers(array, nulls, written.times.get(name))
            _reject(array, wrong, name, _NO_DATE, time_cause, rejections)
        else:
            values, wrong = numbers(array, nulls, written.marks)
            _reject(array, wrong, name, _NO_NUMBER, lambda text: number_cause(text, written.marks), rejections, "", _IS_TEXT)
        out[:] = values
        if not _any_outside(out, attribute.low, attribute.high):
            return
        rejections.add(np.isinf(out), name, "infinite; give a finite number or leave it out")
        if attribute.out_of_range == "clip":
            np.clip(out, attribute.low, attribute.high, out=out)
        bounds = f"[{attribute.low:.15g}, {attribute.high:.15g}]"
        reason = f"outside {bounds} (value withheld); widen the range or set out_of_range: clip"
        rejections.add((out < attribute.low) | (out > attribute.high), name, reason)

    def _leaves(
        self, name: str, attribute: Attribute, array: pa.Array, out: NDArray[np.float64], rejections: Rejections
    ) -> None:
        tree = attribute.hierarchy
        assert tree is not None
        nulls, form = self._policy.nulls_of(name), self._policy.input.times.get(name)
        if form is not None:
            seconds, wrong = times(array, nulls, form)
            _reject(array, wrong, name, _NO_DATE, time_cause, rejections)
            array = iso_days(seconds)
        indices, values = coded(array)
        codes = np.full(len(values), np.nan)
        for i, value in enumerate(values):
            known = isinstance(value, str) and value not in nulls
            code = tree.code.get(value) if known else None
            codes[i] = self._code(attribute, value, nulls) if code is None else code
        take_floats(codes, indices, out)
        if (codes < 0).any():
            remedy = "add it there or set unknown: root"
            _reject(array, out < 0, name, _NO_LEAF, lambda text: category_cause(text, tree.code), rejections, remedy)

    def _code(self, attribute: Attribute, value: object, nulls: Sequence[str]) -> float:
        """The leaf of a value: NaN for a missing one, -1 for one that is rejected."""
        tree = attribute.hierarchy
        assert tree is not None
        try:
            text = canonical(value)
        except ValueError:
            return -1
        if text is None or text in nulls:
            return np.nan
        return tree.code.get(text, tree.leaves if attribute.unknown == "root" else -1)


def _reject(
    array: pa.Array, wrong: NDArray[np.bool_], name: str, reason: str, cause: Callable[[str], str], rejections: Rejections,
    remedy: str = "", otherwise: str = "",
) -> None:  # fmt: skip
    """Reject records, with the likely cause that a function finds for the text of a value, or `otherwise`; and the remedy."""
    if not wrong.any():
        return
    text = texts(array.filter(pa.array(wrong)), ()).dictionary_encode()
    words = text.dictionary.to_pylist()
    found = ["" if word is None else cause(word) for word in words[:_LOOKED_AT]]
    found += [max(dict.fromkeys(found), key=found.count, default="")] * (
        len(words) - len(found)
    )  # the rest is likely as most of them
    codes, rows = text.indices.fill_null(len(found)).to_numpy(zero_copy_only=False), np.flatnonzero(wrong)
    for likely in dict.fromkeys([*found, ""]):
        alike = np.zeros(len(wrong), bool)
        alike[rows[np.isin(codes, [i for i, each in enumerate([*found, ""]) if each == likely])]] = True
        end = "; ".join(filter(None, (likely or otherwise, remedy)))
        rejections.add(alike, name, f"{reason}; {end}" if end else reason)


def _coded_as(known: pa.DataType, array: pa.Array) -> pa.Array:
    """The same values, as a dictionary if earlier batches had one, and as plain values if they had not."""
    if pa.types.is_dictionary(known) and array.type == known.value_type:
        return array.dictionary_encode()
    if pa.types.is_dictionary(array.type):
        if array.type.value_type == known:
            return array.cast(known)
        return array.cast(pa.dictionary(pa.int32(), array.type.value_type, array.type.ordered))  # wide enough for later entries
    return array


def _with_unreadable(array: pa.Array, text: pa.Array) -> pa.Array:
    """The texts of values; each sequence of bytes that is not UTF-8 is a value of its own."""
    wrong = unreadable(array)
    if not wrong.any():
        return text
    found = pa.array([repr(value) for value in plain(array.filter(pa.array(wrong)))], text.type)
    return pc.replace_with_mask(text, pa.array(wrong), found)


def _together(old: pa.DataType, new: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both types, such as float64 for int64 and float64; None if there is none."""
    if old == new:
        return old
    try:
        return pa.unify_schemas([pa.schema([("", old)]), pa.schema([("", new)])], promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None


def event_times(batch: pa.RecordBatch, policy: Policy, rejections: Rejections) -> NDArray[np.float64]:
    """The event times of the records in seconds; 0 if the policy names no time."""
    if policy.time is None:
        return np.zeros(batch.num_rows)
    field = policy.time.field
    array, form = column(batch, field), policy.input.times.get(field)
    seconds, wrong = times(array, policy.nulls_of(field), form)
    if not wrong.any() and seconds.min(initial=0.0) >= -LATEST and seconds.max(initial=0.0) <= LATEST:
        return seconds.copy()  # Arrow's memory is read-only, and kernels would be compiled again for that
    wrong = wrong | (np.abs(seconds) > LATEST)
    remedy = f"give {form}, as input.times says" if form else "give seconds or ISO 8601"
    _reject(array, wrong, field, "not a time (value withheld)", time_cause, rejections, remedy)
    rejections.add(np.isnan(seconds) & ~wrong, field, "the time is missing; every record needs one")
    return np.where(wrong, np.nan, seconds)


def _own(rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A different person for each row."""
    person = np.full((len(rows), 2), _OWN)
    person[:, 0] = rows
    return person


@kernel
def _mark_present(values, pattern):
    """Set bit q of each pattern whose value q is not missing."""
    for q in range(len(values)):
        for i in range(len(pattern)):
            pattern[i] |= np.uint64(values[q, i] == values[q, i]) << np.uint64(q)


@kernel
def _any_outside(values, low, high):
    outside = 0
    for i in range(len(values)):
        outside += values[i] < low or values[i] > high
    return outside > 0


def field_of(batch: pa.RecordBatch, name: str) -> pa.Field:
    """The field of a batch, with its metadata."""
    index = batch.schema.get_field_index(name)
    return batch.schema.field(index) if index >= 0 else pa.field(name, column(batch, name).type)


def _has_whole_ends(attribute: Attribute) -> bool:
    ends = (attribute.low, attribute.high, attribute.grid or 1.0)
    return all(float(end).is_integer() and abs(end) <= _EXACT for end in ends)
