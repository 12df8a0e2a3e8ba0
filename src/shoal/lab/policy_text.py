"""The policy of a form, as `Policy.parse` takes it and as YAML; and the commands and the Python code that use it."""

from __future__ import annotations

import csv
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

from shoal.config import read_yaml, yaml_scalar
from shoal.errors import PolicyError
from shoal.formats import suffix, writable
from shoal.lab.form import Form, FormField, settings_key
from shoal.lab.tree_text import parse_tree
from shoal.policy import NOBODY

WIDTH = 110
_NOBODY = f"person: {NOBODY}"


def as_policy(form: Form) -> dict[str, Any]:
    """The policy of a form, as `Policy.parse` takes it.

    >>> form = Form(fields=[FormField(name="age", role="numeric", low="0", high="100", grid="5")])
    >>> as_policy(form)["attributes"]
    {'age': {'quasi': 'numeric', 'range': [0, 100], 'grid': 5}}

    Raises PolicyError if a hierarchy is no tree, or the further settings are no YAML.
    """
    problems: list[str] = []
    found: dict[str, Any] = {**_about(form), "person": form.person or NOBODY}
    if form.time:
        found["time"] = {"field": form.time, **({} if form.is_filter else {"publish": form.publish})}
    found["nulls"] = list(form.nulls)
    if form.is_filter and form.item:
        found["item"] = {"field": form.item}
    attributes = {entry.name: _attribute(entry, problems) for entry in form.fields if _is_listed(form, entry)}
    if attributes or not form.is_filter:
        found["attributes"] = attributes
    if form.is_filter:
        found["algorithm"] = {"name": form.algorithm, "z": parse_number(form.z), "window": parse_number(form.span)}
    else:
        found["privacy"] = _privacy(form)
        found["window"] = {form.kind: parse_number(form.window)}
        weights = {entry.name: parse_number(entry.weight) for entry in form.fields if _is_weighed(form, entry)}
        found |= {"weights": weights} if weights else {}
        found |= {"suppressed": form.suppressed} if form.suppressed else {}
        found["algorithm"] = {"name": form.algorithm}
    try:
        more = read_yaml(form.more) if form.more.strip() else {}
        if not isinstance(more, Mapping):
            problems.append("more: is not a mapping; write it as key: value pairs, such as privacy: {l: 2}")
        else:
            found = _fitted(_merged({**found, "nulls": list(form.nulls)}, more), form)
    except PolicyError as error:
        problems += [f"more: {problem}" for problem in error.problems]
    if problems:
        raise PolicyError(problems)
    return found


def policy_text(form: Form) -> str:
    """The policy of a form, as a commented YAML file.

    >>> sex = FormField(name="sex", role="categorical", tree="any\\n  f\\n  m", note="2 categories.")
    >>> print(policy_text(Form(fields=[sex])), end="")
    person: none
    nulls: [""]
    <BLANKLINE>
    attributes:
      # 2 categories.
      sex:
        quasi: categorical
        hierarchy:
          any: [f, m]
    <BLANKLINE>
    privacy: {k: 20}
    window: {count: 1000}
    algorithm: {name: tide}
    """
    notes = {entry.name: entry.note for entry in form.fields if entry.noted in ("", settings_key(entry))}
    found = as_policy(form)
    before = [key for key in ("version", "about", "input", "person", "person_missing", "time", "nulls", "item") if key in found]
    lines = [line for key in before for line in _lines(key, found[key])]
    lines = [_NOBODY if line == f'person: "{NOBODY}"' else line for line in lines]
    attributes = found.get("attributes")
    if isinstance(attributes, Mapping) and attributes:
        lines += ["", "attributes:"]
        for name, attribute in attributes.items():
            lines += textwrap.wrap(notes.get(name, ""), WIDTH, initial_indent="  # ", subsequent_indent="  # ")
            lines += [f"  {line}" for line in _lines(name, attribute)]
    rest = [key for key in found if key not in before and not (key == "attributes" and attributes)]
    return "\n".join([*lines, "", *(line for key in rest for line in _lines(key, found[key]))]) + "\n"


def parse_number(text: str) -> Any:
    """The number that a text holds; else the text, which the policy will refuse with its own message.

    >>> parse_number("5"), parse_number(" 0.5"), parse_number("30s"), parse_number("")
    (5, 0.5, '30s', None)
    """
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def _is_listed(form: Form, entry: FormField) -> bool:
    taken = (form.person, form.time, form.item if form.is_filter else "")
    roles = ("sensitive", "keep") if form.is_filter else ("numeric", "categorical", "sensitive", "keep")
    return entry.role in roles and entry.name not in taken


def _is_weighed(form: Form, entry: FormField) -> bool:
    return bool(entry.weight.strip()) and entry.role in ("numeric", "categorical") and _is_listed(form, entry)


def _about(form: Form) -> dict[str, Any]:
    """
    >>> _about(Form(purpose="to plan wards", recipients="hospital, health office"))
    {'about': {'purpose': 'to plan wards', 'recipients': ['hospital', 'health office']}}
    """
    recipients = [each.strip() for each in form.recipients.split(",") if each.strip()]
    found: dict[str, Any] = {"purpose": form.purpose.strip(), "recipients": recipients}
    found |= {"controller": form.controller.strip(), "contact": form.contact.strip()}
    written = {key: value for key, value in found.items() if value}
    return {"about": written} if written else {}


def _privacy(form: Form) -> dict[str, Any]:
    texts = {"l": form.l, "t": form.t, "across": form.across}
    numbers = {key: _value(text) for key, text in texts.items() if text.strip()}
    nulls = {"nulls_match": form.nulls_match} if form.nulls_match else {}
    accept = {name: parse_number(text) for name, text in form.accept.items() if text.strip()}
    return {"k": parse_number(form.k), **numbers, **nulls, **({"accept": accept} if accept else {})}


def _value(text: str) -> Any:
    """A number, or a setting in braces, such as {entropy: 3}."""
    if not text.strip().startswith("{"):
        return parse_number(text)
    try:
        return read_yaml(text)
    except PolicyError:
        return text


def _sensitive(entry: FormField) -> dict[str, Any]:
    """
    >>> _sensitive(FormField(name="illness", stable=True, shown="block", blocks="flu, cold\\ngout, none"))
    {'sensitive': True, 'stable': True, 'as': 'block', 'blocks': [['flu', 'cold'], ['gout', 'none']]}
    """
    if not entry.stable:
        return {"sensitive": True}
    lines = csv.reader(entry.blocks.splitlines(), skipinitialspace=True)
    listed = [block for line in lines if (block := [value.strip() for value in line if value.strip()])]
    blocks = {"blocks": listed} if entry.shown in ("", "block") and listed else {}
    return {"sensitive": True, "stable": True, **({"as": entry.shown} if entry.shown else {}), **blocks}


def _generalized(entry: FormField) -> dict[str, Any]:
    if entry.generalize == "set" and entry.most.strip():
        return {"generalize": {"set": {"most": parse_number(entry.most)}}}
    return {"generalize": entry.generalize} if entry.generalize else {}


def _attribute(entry: FormField, problems: list[str]) -> dict[str, Any]:
    match entry.role:
        case "sensitive":
            return _sensitive(entry)
        case "numeric":
            ends = (
                {"range": [parse_number(entry.low), parse_number(entry.high)]}
                if entry.low.strip() or entry.high.strip()
                else {}
            )
            grid = {"grid": parse_number(entry.grid)} if entry.grid.strip() else {}
            part = {"part": entry.part} if entry.part.strip() else {}
            return {"quasi": "numeric", **part, **ends, **grid, **({"out_of_range": "clip"} if entry.clip else {})}
        case "categorical":
            lenient = {"unknown": "root"} if entry.lenient else {}
            tree: dict[str, Any] = {}
            if entry.tree.strip():
                try:
                    tree = {"hierarchy": parse_tree(entry.tree)}
                except PolicyError as error:
                    problems += [f"attributes.{entry.name}.hierarchy: {problem}" for problem in error.problems]
            elif entry.builder.strip():
                tree = {"hierarchy": read_yaml(entry.builder)}
            return {"quasi": "categorical", **lenient, **_generalized(entry), **tree}
    return {"publish": "keep"}


def _fitted(found: dict[str, Any], form: Form) -> dict[str, Any]:
    """The same, with texts by field that mean missing also for the fields that the form's own list is for."""
    own = found.get("nulls")
    if isinstance(own, Mapping) and form.nulls != [""]:
        fields = [found.get("person"), form.time, *found.get("attributes", {})]
        usual = {name: list(form.nulls) for name in fields if name and name != NOBODY}
        found["nulls"] = {**usual, **{name: [*dict.fromkeys([*form.nulls, *texts])] for name, texts in own.items()}}
    return found


def _merged(first: Mapping[Any, Any], second: Mapping[Any, Any]) -> dict[str, Any]:
    """Both mappings merged; where both have a value, the second counts."""
    found = dict(first)
    for key, value in second.items():
        inside = found.get(key)
        found[key] = _merged(inside, value) if isinstance(inside, Mapping) and isinstance(value, Mapping) else value
    return found


def _lines(key: object, value: object) -> Iterator[str]:
    """A key and its value, on one line if they fit; a hierarchy always as a tree."""
    name = yaml_scalar(key) if isinstance(key, str) else flow_text(key)
    flow = flow_text(value)
    is_tree = isinstance(value, Mapping) and (key == "hierarchy" or "hierarchy" in value)
    if (not is_tree and len(name) + len(flow) + 2 <= WIDTH) or not isinstance(value, Mapping | list) or not value:
        yield f"{name}: {flow}"
    elif isinstance(value, Mapping):
        yield f"{name}:"
        for each, below in value.items():
            yield from (f"  {line}" for line in _lines(each, below))
    else:
        yield from _listed(f"{name}: [", [flow_text(each) for each in value])


def _listed(start: str, items: list[str]) -> Iterator[str]:
    """A list on as many lines as it needs."""
    line = start
    for place, item in enumerate(items, 1):
        piece = f"{item}{',' if place < len(items) else ']'}"
        if len(line) + len(piece) > WIDTH and line.strip():
            yield line.rstrip()
            line = " " * len(start)
        line += f"{piece} "
    yield line.rstrip()


def flow_text(value: object) -> str:
    match value:
        case str():
            return yaml_scalar(value)
        case Mapping():
            return f"{{{', '.join(f'{flow_text(key)}: {flow_text(below)}' for key, below in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(flow_text, value))}]"
    dumped: str = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return dumped.removesuffix("\n").removesuffix("\n...")


_OUTPUT = "anonymized"


def commands(name: str, is_filter: bool = False) -> str:
    """
    >>> print(commands("my people.csv.gz"), end="")
    shoal check policy.yaml 'my people.csv.gz'
    shoal run policy.yaml 'my people.csv.gz' anonymized.csv.gz --trace private.jsonl
    shoal audit policy.yaml 'my people.csv.gz' anonymized.csv.gz --trace private.jsonl
    """
    file, target = shlex.quote(name), shlex.quote(_target(name))
    secret = 'export SHOAL_SECRET="$(openssl rand -hex 32)"\n' if is_filter else ""
    return (
        f"{secret}shoal check policy.yaml {file}\n"
        f"shoal run policy.yaml {file} {target} --trace private.jsonl\n"
        f"shoal audit policy.yaml {file} {target} --trace private.jsonl\n"
    )


def python(name: str, is_filter: bool = False) -> str:
    """
    >>> print(python("people.csv"), end="")
    import shoal
    from shoal.audit import audit
    <BLANKLINE>
    policy = shoal.Policy.load("policy.yaml")
    stats = shoal.run(policy, 'people.csv', 'anonymized.csv', trace="private.jsonl")
    report = audit(policy, 'people.csv', 'anonymized.csv', "private.jsonl")
    print(stats, report.held)
    """
    secret = "# the variable SHOAL_SECRET holds the secret of the pseudonyms\n" if is_filter else ""
    return (
        f"{secret}import shoal\nfrom shoal.audit import audit\n\n"
        'policy = shoal.Policy.load("policy.yaml")\n'
        f'stats = shoal.run(policy, {name!r}, {_target(name)!r}, trace="private.jsonl")\n'
        f'report = audit(policy, {name!r}, {_target(name)!r}, "private.jsonl")\n'
        "print(stats, report.held)\n"
    )


def _target(name: str) -> str:
    return f"{_OUTPUT}{writable(suffix(name)) if suffix(name) else PurePath(name).suffix}"
