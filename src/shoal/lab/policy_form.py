"""The form of an existing policy: what the form has no box for goes into its further settings."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any, get_args

from shoal.config import read_yaml
from shoal.errors import PolicyError
from shoal.hierarchies import is_named
from shoal.lab.form import Form, FormField, with_note
from shoal.lab.policy_text import flow_text
from shoal.lab.tree_text import parse_tree as from_text
from shoal.lab.tree_text import tree_text
from shoal.policy import FILTER, NOBODY
from shoal.policy import parse_tree as tree

Settings = dict[str, Any]


def as_form(text: str, fields: list[FormField]) -> Form:
    """The form of a policy, for a sample with these fields. Raises PolicyError if the text is no YAML mapping.

    >>> form = as_form("person: pid\\nattributes: {age: {quasi: numeric, range: [0, 9]}}\\nprivacy: {k: 5}\\nlanes: 2", [])
    >>> form.person, form.k, [(each.name, each.role, each.high) for each in form.fields], form.more
    ('pid', '5', [('age', 'numeric', '9')], 'lanes: 2\\n')
    """
    found = read_yaml(text)
    if not isinstance(found, Mapping):
        raise PolicyError(["the policy: is not a mapping; write it as key: value pairs"])
    rest: Settings = dict(found)
    form = Form(nulls=[""])
    person = _take(rest, "person", str)
    form.person = "" if person in (None, NOBODY) else person
    _about(rest, form)
    _time(rest, form)
    if isinstance(rest.get("nulls"), list) and all(isinstance(each, str) for each in rest["nulls"]):
        form.nulls = rest.pop("nulls")
    _item(rest, form)
    _algorithm(rest, form)
    _privacy(rest, form)
    _window(rest, form)
    if rest.get("suppressed") in _options(Form, "suppressed"):
        form.suppressed = rest.pop("suppressed")
    form.fields = _fields(rest, fields)
    form.more = "".join(f"{flow_text(key)}: {flow_text(value)}\n" for key, value in rest.items())
    return form


def _take(rest: Settings, key: str, kind: type) -> Any:
    """Take a setting out, if it is of a kind."""
    return rest.pop(key) if isinstance(rest.get(key), kind) else None


def _section(rest: Settings, key: str) -> Settings:
    """A section, to take settings out of; what stays in it is put back by `_back`."""
    return dict(_take(rest, key, Mapping) or {})


def _back(rest: Settings, key: str, left: Settings) -> None:
    if left:
        rest[key] = left


def _options(model: type, key: str) -> tuple[Any, ...]:
    return tuple(get_args(model.model_fields[key].annotation))  # type: ignore[attr-defined]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else repr(value) if isinstance(value, float) else flow_text(value)


def _about(rest: Settings, form: Form) -> None:
    about = _section(rest, "about")
    for key in ("purpose", "controller", "contact"):
        setattr(form, key, _take(about, key, str) or "")
    recipients = about.get("recipients")
    named = [recipients] if isinstance(recipients, str) else recipients
    if isinstance(named, list) and all(isinstance(each, str) and "," not in each for each in named):
        form.recipients = ", ".join(named)
        about.pop("recipients")
    _back(rest, "about", about)


def _time(rest: Settings, form: Form) -> None:
    time = _section(rest, "time")
    form.time = _take(time, "field", str) or ""
    if time.get("publish") in _options(Form, "publish"):
        form.publish = time.pop("publish")
    _back(rest, "time", time)


def _item(rest: Settings, form: Form) -> None:
    item = _section(rest, "item")
    form.item = _take(item, "field", str) or ""
    _back(rest, "item", item)


def _algorithm(rest: Settings, form: Form) -> None:
    algorithm = _section(rest, "algorithm")
    form.algorithm = _take(algorithm, "name", str) or form.algorithm
    if form.algorithm == FILTER:
        if isinstance(algorithm.get("z"), int):
            form.z = str(algorithm.pop("z"))
        if isinstance(algorithm.get("window"), str | int | float):
            form.span = _written(algorithm.pop("window"))
    _back(rest, "algorithm", algorithm)


def _privacy(rest: Settings, form: Form) -> None:
    privacy = _section(rest, "privacy")
    for key in ("k", "l", "t", "across"):
        if privacy.get(key) is not None:
            setattr(form, key, _written(privacy.pop(key)))
    if privacy.get("nulls_match") in _options(Form, "nulls_match"):
        form.nulls_match = privacy.pop("nulls_match")
    if isinstance(privacy.get("accept"), Mapping):
        form.accept = {str(name): _written(share) for name, share in privacy.pop("accept").items()}
    _back(rest, "privacy", privacy)


def _window(rest: Settings, form: Form) -> None:
    window = _section(rest, "window")
    if len(window) == 1 and next(iter(window)) in _options(Form, "kind"):
        form.kind, length = window.popitem()  # type: ignore[assignment]
        form.window = _written(length)
    _back(rest, "window", window)


def _fields(rest: Settings, fields: list[FormField]) -> list[FormField]:
    attributes, weights = _section(rest, "attributes"), _section(rest, "weights")
    names = dict.fromkeys([*(entry.name for entry in fields), *map(str, attributes)])
    drafted = {entry.name: entry for entry in fields}
    found = []
    for name in names:
        entry = drafted.get(name, FormField(name=name)).model_copy(update={"role": "omit"})
        settings = attributes.pop(name, None)
        if isinstance(settings, Mapping):
            left = dict(settings)
            entry = _entry(name, left)
            if left:
                attributes[name] = left
        elif settings is not None:
            attributes[name] = settings
        if entry.role in ("numeric", "categorical") and name in weights:
            entry.weight = _written(weights.pop(name))
        found.append(entry)
    _back(rest, "attributes", attributes)
    _back(rest, "weights", weights)
    return found


def _entry(name: str, left: Settings) -> FormField:
    """The field of an attribute; `left` keeps what the form has no box for."""
    entry = FormField(name=name)
    if left.get("sensitive") is True:
        left.pop("sensitive")
        entry.role = "sensitive"
        entry.stable = bool(_take(left, "stable", bool))
        if left.get("as") in _options(FormField, "shown"):
            entry.shown = left.pop("as")
        blocks = left.get("blocks")
        if isinstance(blocks, list) and all(isinstance(block, list) for block in blocks):
            entry.blocks = block_lines(left.pop("blocks"))
    elif left.get("quasi") == "numeric":
        _number(entry, left)
    elif left.get("quasi") == "categorical":
        _category(entry, left)
    elif "publish" in left:
        entry.role = "keep"
        if left["publish"] == "keep":
            left.pop("publish")
    return with_note(entry, "")


def _number(entry: FormField, left: Settings) -> None:
    entry.role = left.pop("quasi")
    ends = left.get("range")
    if isinstance(ends, list) and len(ends) == 2:
        entry.low, entry.high = map(_written, left.pop("range"))
    if "grid" in left:
        entry.grid = _written(left.pop("grid"))
    entry.part = _take(left, "part", str) or ""
    if left.get("out_of_range") == "clip":
        entry.clip = bool(left.pop("out_of_range"))


def _category(entry: FormField, left: Settings) -> None:
    entry.role = left.pop("quasi")
    if left.get("unknown") == "root":
        entry.lenient = bool(left.pop("unknown"))
    match left.get("generalize"):
        case "node" | "set":
            entry.generalize = left.pop("generalize")
        case {"set": {"most": most, **others}} if not others:
            entry.generalize, entry.most = "set", _written(most)
            left.pop("generalize")
    hierarchy = left.get("hierarchy")
    if isinstance(hierarchy, str) or (isinstance(hierarchy, Mapping) and is_named(hierarchy)):
        entry.builder = flow_text(left.pop("hierarchy"))
    elif isinstance(hierarchy, Mapping):
        try:
            found = tree(hierarchy)
            text = tree_text(found)
            again: Any = from_text(text)
            if tree(again) == found:
                entry.tree = text
                left.pop("hierarchy")
        except PolicyError:
            pass  # it stays as it is written, and the check says what is wrong with it


def block_lines(blocks: list[list[Any]]) -> str:
    """Blocks as the form has them: one per line, values between commas.

    >>> block_lines([["flu", "cold, mild"], ["none"]])
    'flu,"cold, mild"\\nnone\\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(blocks)
    return text.getvalue()
