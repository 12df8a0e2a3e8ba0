"""The policy: what to protect and how, frozen and checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from shoal.config import read_yaml
from shoal.errors import PolicyError
from shoal.policy.about import About
from shoal.policy.algorithm import Algorithm, Parameters
from shoal.policy.attribute import Attribute, Requirement
from shoal.policy.checks import notes
from shoal.policy.frozen_map import FrozenMap
from shoal.policy.input import USUAL, Input
from shoal.policy.policy_file import json_schema, read_policy
from shoal.policy.reason import because
from shoal.policy.sections import NOBODY, Item, Privacy, Suppressed, Time, Window, round_grid
from shoal.policy.stable import Blocks, Releases, ShownAs, lowest_nodes


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy:
    """What to protect and how. Made by `load` or `parse`, which raise every problem at once.

    >>> policy = Policy.parse('''
    ... person: pid
    ... attributes: {age: {quasi: numeric, range: [17, 90], grid: 5}, disease: {sensitive: true}}
    ... privacy: {k: 50}
    ... window: {count: 2000}
    ... algorithm: {name: idea}
    ... ''')
    >>> policy.privacy.k, policy.window.length, policy.kept, policy.reuse
    (50, 2000.0, ('disease',), Reuse(age=inf, limit=200, loss=0.5))
    """

    person: str | None
    person_missing: Literal["reject", "own"]
    time: Time | None
    input: Input
    nulls: tuple[str, ...]  # of the fields that have no texts of their own
    own_nulls: Mapping[str, tuple[str, ...]]
    item: Item | None
    attributes: Mapping[str, Attribute]
    nesting: Literal["flat", "keep"]  # how fields inside fields are written
    privacy: Privacy  # it and the window are None if `is_filter`
    window: Window
    weights: Mapping[str, float]
    suppressed: Suppressed  # what becomes of suppressed rows
    stretch: float  # how many times as long the window may become while it holds fewer than k persons
    releases: Releases | None  # how many tuples of one person may leave
    lanes: int  # windows side by side that share the tuples
    algorithm: Algorithm
    about: About  # decides no outcome, and is in no fingerprint

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Policy:
        """The policy of a YAML file; the hierarchies it names lie in its folder.

        Raises
        ------
        PolicyError
            Everything that is wrong with it.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            problem = "does not exist; correct the path"
        except UnicodeDecodeError:
            problem = "is not UTF-8; save it as UTF-8"
        except (OSError, ValueError):
            problem = "cannot be read; check that it is a file and its permissions"
        else:
            return cls.parse(text, Path(path).parent)
        raise PolicyError([f"{path}: {problem}"])

    @classmethod
    def parse(cls, written: str | Mapping[str, Any], folder: str | PathLike[str] | None = None) -> Policy:
        """The policy of a YAML text or a mapping; without a folder it can name no hierarchy files.

        Raises
        ------
        PolicyError
            Everything that is wrong with it.
        """
        sections = read_policy(read_yaml(written) if isinstance(written, str) else written, folder)
        window, privacy, person = sections["window"], sections["privacy"], sections["person"]
        time, algorithm = sections["time"], sections["algorithm"]
        if isinstance(algorithm, Parameters):
            algorithm = algorithm.resolved(privacy.k, window)
        else:
            time = time if time.publish == "keep" else time.model_copy(update={"publish": "keep"})
        return cls(
            person=None if person == NOBODY else person,
            person_missing=sections["person_missing"],
            time=time,
            input=sections["input"] or USUAL,
            nulls=sections["nulls"].usual,
            own_nulls=FrozenMap(sections["nulls"].own),
            item=sections["item"],
            attributes=FrozenMap(sections["attributes"]),
            nesting=sections["nesting"],
            privacy=privacy,
            window=window,
            weights=FrozenMap(sections["weights"]),
            suppressed=sections["suppressed"],
            stretch=sections["sparse"],
            releases=sections["releases"],
            lanes=sections["lanes"],
            algorithm=algorithm,
            about=sections["about"] or About(),
        )

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The JSON schema of a written policy, for editors."""
        return json_schema()

    def nulls_of(self, field: str) -> tuple[str, ...]:
        """The texts that mean missing in a field."""
        return self.own_nulls.get(field, self.nulls)

    @property
    def is_filter(self) -> bool:
        """Whether each observation is released or withheld at once: then there is no window, and no k."""
        return not isinstance(self.algorithm, Parameters)

    @property
    def repeatable(self) -> bool:
        """Whether two runs over the same records release the same, whatever the threads do."""
        return getattr(self.algorithm, "workers", 1) == 1

    @cached_property
    def quasi(self) -> tuple[tuple[str, Attribute], ...]:
        """The quasi-identifiers, in order."""
        return tuple((name, attribute) for name, attribute in self.attributes.items() if attribute.quasi)

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The attributes that are published as they are, in order."""
        return tuple(name for name, attribute in self.attributes.items() if not attribute.quasi)

    @cached_property
    def reasons(self) -> Mapping[str, str | None]:
        """The published fields that are neither generalized nor the item, and why, if the policy says so; the time too."""
        time = {self.time.field: because(self.time.publish)} if self.time and self.time.publish == "keep" else {}
        return FrozenMap({**time, **{name: self.attributes[name].reason for name in self.kept if name not in self.bags}})

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The published fields that k must hide and no group does: those kept without a reason, an exact time too.

        Sensitive attributes are not among them: an outsider wants to learn them, and does not know them.
        """
        sensitive = {name for name, attribute in self.attributes.items() if attribute.sensitive}
        return tuple(name for name, reason in self.reasons.items() if reason is None and name not in sensitive)

    def shown_as(self, name: str) -> ShownAs | None:
        """How a stable attribute is published; None if an attribute is not declared stable."""
        attribute = self.attributes[name]
        return (attribute.shown_as or "block") if attribute.stable else None

    @cached_property
    def blocks(self) -> Mapping[str, Blocks]:
        """The stable attributes that are published as blocks of values."""
        found = {}
        for name, attribute in self.attributes.items():
            if self.shown_as(name) == "block":
                blocks = attribute.blocks
                if attribute.hierarchy and self.privacy.across:
                    blocks = lowest_nodes(attribute.hierarchy, self.privacy.across)
                assert blocks is not None
                found[name] = blocks
        return FrozenMap(found)

    @cached_property
    def bags(self) -> Mapping[str, int]:
        """The stable attributes that are published in bags apart from the rows, each with the fewest values of a bag."""
        named = (name for name in self.attributes if self.shown_as(name) == "bag")
        return FrozenMap({name: self.attributes[name].bag_size for name in named})

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of a record that are read."""
        person = [self.person] if self.person else []
        time = [self.time.field] if self.time else []
        return (*person, *time, *(self.item.names if self.item else ()), *self.attributes)

    @cached_property
    def published(self) -> tuple[str, ...]:
        """The fields of what is published, in order."""
        time = [self.time.field] if self.time and self.time.publish != "drop" else []
        if self.item:
            assert self.person
            return (*time, self.person, *self.item.names, *self.kept)
        return (*time, *self.attributes)

    @cached_property
    def generalized(self) -> tuple[str, ...]:
        """The published fields that may be generalized."""
        if self.item:
            return self.item.names
        time = [self.time.field] if self.time and self.time.publish == "generalize" else []
        return (*time, *(name for name, _ in self.quasi))

    @property
    def one_in_k(self) -> bool:
        """Whether a person's share of the rows of a group must be watched: not if k is 1 or every record is its own person."""
        return self.privacy.one_in_k and self.privacy.k > 1 and self.person is not None

    @cached_property
    def time_grid(self) -> float | None:
        """The grid of the published time, in seconds; None if no time is generalized."""
        if self.time is None or self.time.publish != "generalize":
            return None
        return round_grid(self.window.length) if self.time.grid is None else float(self.time.grid)

    @cached_property
    def passed(self) -> tuple[str, ...]:
        """The published fields that a window keeps beside the tuple: all but the quasi-identifiers."""
        quasi = {name for name, _ in self.quasi}
        return tuple(name for name in self.published if name not in quasi)

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """What is required of each sensitive attribute that has a requirement; of blocks, by their labels."""
        asked = (
            Requirement(name, attribute.l or self.privacy.l, attribute.t or self.privacy.t, self._reference(name))
            for name, attribute in self.attributes.items()
            if attribute.sensitive and name not in self.bags
        )
        return tuple(demand for demand in asked if demand.l or demand.t)

    def _reference(self, name: str) -> Mapping[str, float] | None:
        """The shares that t compares with; those of blocks, if the attribute is published as blocks."""
        given = self.attributes[name].distribution
        return self.blocks[name].shares(given) if given and name in self.blocks else given

    @cached_property
    def reuse(self) -> Reuse:
        """The bounds of the reuse set."""
        assert isinstance(self.algorithm, Parameters)
        age, loss = self.algorithm.reuse_age, self.algorithm.reuse_loss
        assert age is not None and loss is not None
        return Reuse(age, self.algorithm.reuse_limit, loss)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is legal but worth saying."""
        return tuple(notes(self))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that decides the outcome, hierarchies included."""
        return _digest(self._parts)

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        """A digest of each section, to find what differs between two policies."""
        return FrozenMap({name: _digest(part) for name, part in self._parts.items()})

    @cached_property
    def _parts(self) -> dict[str, Any]:
        parts: dict[str, Any] = {
            "person": self.person,
            "person_missing": self.person_missing,
            "time": self.time and {**self.time.model_dump(exclude={"grid"}), "grid": self.time_grid},
            "nulls": sorted(self.nulls),
            "attributes": [[name, _plain(attribute)] for name, attribute in self.attributes.items()],
            "algorithm": self.algorithm.model_dump(exclude={"secret_file"}),
        }
        if self.own_nulls:
            parts["own_nulls"] = sorted([name, sorted(texts)] for name, texts in self.own_nulls.items())
        if self.input != USUAL:
            parts["input"] = self.input.plain()
        if self.nesting != "flat":
            parts["nesting"] = self.nesting
        if self.item:
            parts["item"] = self.item.plain()
        else:
            privacy = {**self.privacy.model_dump(exclude={"accept"}), "min_support": self.privacy.support}
            parts |= {"privacy": privacy, "window": [self.window.kind, self.window.length]}
            parts |= {"weights": sorted(self.weights.items()), "stretch": self.stretch, "suppressed": self.suppressed}
            parts |= {"lanes": self.lanes} if self.lanes > 1 else {}
            parts |= {"releases": self.releases.model_dump()} if self.releases else {}
            if not privacy["across"]:
                del privacy["across"]
        return parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _digest(part: Any) -> str:
    return hashlib.sha256(json.dumps(part, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _plain(attribute: Attribute) -> dict[str, Any]:
    hierarchy = attribute.hierarchy and attribute.hierarchy.lines()
    hidden = {"hierarchy", "values", "generalize", "because", "blocks"} | (set() if attribute.part else {"part"})
    hidden |= set() if attribute.stable else {"stable", "shown_as", "bag"}
    sets = {"sets": attribute.sets._asdict()} if attribute.sets else {}
    blocks = {"blocks": attribute.blocks.plain()} if attribute.blocks else {}
    return {**attribute.model_dump(exclude=hidden), "hierarchy": hierarchy, **sets, **blocks}


@dataclass(frozen=True)
class Reuse:
    """The bounds of a reuse set; `math.inf` where there is none."""

    age: float
    limit: int
    loss: float
