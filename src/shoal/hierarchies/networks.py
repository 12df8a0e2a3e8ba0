"""Addresses by their network: 10.1.2.3 lies in 10.1.2.0/24, that in 10.1.0.0/16."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network
from itertools import pairwise
from typing import Any, ClassVar

from shoal.errors import PolicyError
from shoal.hierarchies.rule import Rule, Unfit, few


class Networks(Rule):
    """IPv4 and IPv6; a prefix that is as long as the address, or longer, skips the level.

    >>> rule = Networks({"levels": [48, 24, 16]})
    >>> rule.above("10.1.2.3"), rule.above("2001:db8::1")
    (['10.1.2.0/24', '10.1.0.0/16'], ['2001:db8::/48', '2001:d00::/24', '2001::/16'])
    """

    NAME = "networks"
    KEYS: ClassVar = {
        "levels": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 127}, "minItems": 1},
        "range": {"type": "string"},
    }
    EXAMPLE = "{builder: networks, range: 10.1.0.0/16, levels: [28, 24, 20]}"

    def __init__(self, written: Mapping[str, Any]) -> None:
        levels = written.get("levels", [24, 16, 8])
        if not isinstance(levels, list | tuple) or not levels or not all(type(n) is int and 0 < n < 128 for n in levels):
            raise PolicyError(["levels: is no list of prefix lengths from 1 to 127; list the longest first, such as [24, 16]"])
        if any(coarse >= fine for fine, coarse in pairwise(levels)):
            raise PolicyError(["levels: do not fall; list the longest prefix first, such as [24, 16]"])
        self._lengths = list(levels)
        try:
            self._range = ip_network(str(written["range"])) if "range" in written else None
        except ValueError:
            raise PolicyError(["range: is no network; write it like 10.1.0.0/16"]) from None

    def above(self, value: str) -> list[str]:
        try:
            address = ip_address(value)
        except ValueError:
            raise Unfit("is no IP address") from None
        lengths = [length for length in self._lengths if length < address.max_prefixlen]
        return [str(ip_network((int(address) if address.version == 4 else address, length), False)) for length in lengths]

    def leaves(self) -> Iterable[str] | None:
        if self._range is None:
            return None
        few(self._range.num_addresses)
        return map(str, self._range)
