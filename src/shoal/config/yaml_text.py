"""YAML, read and written so that labels and codes stay as they are."""

from __future__ import annotations

import re
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

from shoal.errors import PolicyError

_SCALARS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
)
_MERGE = "tag:yaml.org,2002:merge"
_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./+-]| (?=[A-Za-z0-9]))*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n", "none"})
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class _Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
    """Safe YAML with the scalars of YAML 1.2 (`no` and `01234` are text), which notices a key that appears twice."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.twice: list[str] = []

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                value = key.value if key.tag == _MERGE else self.construct_object(key)
                if value in seen:  # as Python compares them: 1 and true are one key
                    self.twice.append(f"line {key.start_mark.line + 1}: the key {key.value!r} appears twice; keep one")
                seen.add(value)
        return node


for _tag, _pattern, _starts in _SCALARS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), _starts)


def read_yaml(text: str) -> Any:
    """What a YAML text says.

    >>> read_yaml("{no: 01234, yes: 1}")
    {'no': '01234', 'yes': 1}
    """
    try:
        loader = _Loader(text)
        value = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise PolicyError([f"{line}is not YAML ({error.problem}); correct it, or quote what is text"]) from None
    except (yaml.YAMLError, ValueError):
        raise PolicyError(["the policy is not YAML; save it as plain UTF-8 text"]) from None
    except RecursionError:
        raise PolicyError(["the policy is nested too deeply; flatten it"]) from None
    if loader.twice:
        raise PolicyError(loader.twice)
    return value


def yaml_scalar(text: str) -> str:
    r"""A YAML scalar that is read back as this very text, on one line.

    >>> [yaml_scalar(text) for text in ("native-country", " sex", "2019", "no", "a: b", "x\ny")]
    ['native-country', '" sex"', '"2019"', '"no"', '"a: b"', '"x\\ny"']
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return f'"{"".join(map(_escaped, text))}"'


def quoted_name(text: str) -> str:
    """A name within a sentence.

    >>> quoted_name("age"), quoted_name("a: b")
    ("'age'", '"a: b"')
    """
    written = yaml_scalar(text)
    return written if written.startswith('"') else f"'{written}'"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
