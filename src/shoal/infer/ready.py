"""Fields whose values have a ready hierarchy: dates, postcodes, IP addresses, phone numbers, coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, ip_address, ip_network

import numpy as np

from shoal.config import quoted_name, yaml_scalar
from shoal.date_text import years
from shoal.infer.entry import Entry, numeric, rounded_range
from shoal.infer.sample import Column
from shoal.recognize import is_birth, words

_LATITUDE, _LONGITUDE = frozenset({"lat", "latitude"}), frozenset({"lon", "lng", "long", "longitude"})
_WIDEST = 16  # the shortest prefix of a network whose addresses are all leaves
_FINEST = 0.01  # degrees, about a kilometre


def dates(column: Column) -> Entry:
    """A birth becomes a year on a grid, which is clearly a quasi-identifier; other dates get a hierarchy, which is left out."""
    name, found = quoted_name(column.name), column.seconds
    assert found is not None
    year = years(found[np.isfinite(found)])
    doubt = _doubt(column)
    if is_birth(column.name):
        bounds = rounded_range(float(year.min()), float(year.max()), True)
        if bounds is None:
            return Entry(f"{name} is left out: its dates are too far apart for a range.")
        setting = numeric(column.name, bounds, "part: year")
        if column.forms and "yyyy" not in column.forms[0]:
            return Entry(f"{name} is left out: {doubt}.", setting)
        return Entry(f"Dates of birth; only the year is used{f'; {doubt}' if doubt else ''}.", setting, active=True)
    first, last = int(year.min()), int(year.max())
    tree = f"{{builder: dates, range: [{first:04d}-01-01, {last:04d}-12-31], levels: [month, quarter, year]}}"
    why = "exact dates and times can single persons out. If enabled, they are generalized to months, quarters and years"
    if last - first > 300 or first < 1:
        return Entry(f"{name} is left out: exact dates and times can single persons out.")
    return Entry(f"{name} is left out: {why}{f'; {doubt}' if doubt else ''}.", [_categorical(column.name, tree)])


def _doubt(column: Column) -> str:
    """What must be decided about the form of dates."""
    if len(column.forms) > 1:
        return f"DECIDE under input.times whether they are {' or '.join(column.forms)}: the values fit both"
    if column.forms and "yyyy" not in column.forms[0] and "yy" in column.forms[0]:
        return f"its years have two digits: 25 can be 1925 or 2025; as input.times: {column.forms[0]} it is 2025"
    return ""


def postcodes(column: Column) -> Entry:
    """Codes of digits, equally long, become a hierarchy by their first digits."""
    sizes = {len(value) for value in column.values}
    if len(sizes) != 1 or not all(value.isascii() and value.isdigit() for value in column.values) or not 3 <= max(sizes) <= 6:
        note = "a postcode can single persons out; as a quasi-identifier it needs a hierarchy by its first characters"
        return _from_data(column.name, f"{quoted_name(column.name)} is left out: {note}", "prefix --levels 3,2,1")
    size = max(sizes)
    start = {value[0] for value in column.values}
    first = start.pop() if len(start) == 1 else ""
    ends = [f"{first}{digit * (size - len(first))}" for digit in "09"]
    levels = [*range(size - 1, len(first), -1)]
    tree = f'{{builder: prefix, range: ["{ends[0]}", "{ends[1]}"], levels: {levels}}}'
    return Entry(
        f"Postcodes of {size} digits, generalized by their first digits.", [_categorical(column.name, tree)], active=True
    )


def addresses(column: Column) -> Entry:
    """IP addresses of one network become a hierarchy by network."""
    note = f"{quoted_name(column.name)} is left out: IP addresses can single persons out"
    try:
        found = [int(address) for value in column.values if isinstance(address := ip_address(value), IPv4Address)]
    except ValueError:
        found = []
    same = 32 - (min(found) ^ max(found)).bit_length() if len(found) == len(column.values) and found else 0
    if same < _WIDEST:
        return _from_data(column.name, f"{note}. If enabled, they are generalized by network", "networks --levels 24,16,8")
    network = ip_network((min(found), _WIDEST), strict=False)
    tree = f"{{builder: networks, range: {network}, levels: [28, 24, 20]}}"
    return Entry(f"{note}. If enabled, they are generalized by network.", [_categorical(column.name, tree)])


def phones(column: Column) -> Entry:
    """Phone numbers are left out; their first digits could be generalized."""
    note = f"{quoted_name(column.name)} is left out: by its name or its values it holds phone numbers; never publish them whole"
    return _from_data(
        column.name, f"{note}. Their first digits, which show a place, could be generalized", "prefix --levels 6,4,3"
    )


def places(column: Column) -> Entry | None:
    """A latitude or a longitude becomes a number on a grid, so that both make a cell; None for anything else."""
    found = words(column.name)
    limit = 90.0 if found & _LATITUDE else 180.0 if found & _LONGITUDE else 0.0
    values = column.numbers
    if values is not None and limit and len(values) and bool((np.abs(values) <= limit).all()) and values.min() < values.max():
        low, high = (float(np.clip(end, -limit, limit)) for end in _around(float(values.min()), float(values.max())))
        step = max(_FINEST, round(_step((high - low) / 20), 6))
        bounds = f"range: [{low:g}, {high:g}], grid: {step:g}"
        note = "Degrees, generalized to cells of the grid together with the other coordinate."
        return Entry(note, [f"{yaml_scalar(column.name)}: {{quasi: numeric, {bounds}, out_of_range: clip}}"], active=True)
    if values is None and column.shape == "coordinates":
        note = f"{quoted_name(column.name)} is left out: coordinates can single persons out. If enabled, they become cells"
        return _from_data(column.name, note, "cells --levels 0.1,1,10")
    return None


def _around(low: float, high: float) -> tuple[float, float]:
    """Whole degrees around two values, strictly."""
    return float(np.ceil(low) - 1), float(np.floor(high) + 1)


def _step(wanted: float) -> float:
    unit = 10.0 ** np.floor(np.log10(wanted))
    return float(next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= wanted))


def _categorical(name: str, tree: str) -> str:
    return f"{yaml_scalar(name)}: {{quasi: categorical, unknown: root, hierarchy: {tree}}}"


def _from_data(name: str, note: str, builder: str) -> Entry:
    """An entry whose hierarchy is built from the data, since its leaves cannot be listed here."""
    file = f"{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-') or 'hierarchy'}.csv"
    command = f"shoal hierarchy build {builder} --from DATA --field {name} > {file}"
    return Entry(f"{note}; write its tree with `{command}`:", [_categorical(name, yaml_scalar(file))])


def is_addresses(values: Sequence[str]) -> bool:
    """Whether all values are IP addresses.

    >>> is_addresses(["10.0.0.1", "::1"]), is_addresses(["x"]), is_addresses([])
    (True, False, False)
    """
    try:
        return all(ip_address(value) for value in values) and bool(values)
    except ValueError:
        return False
