"""The file of a pipeline: a policy between a source and a sink, and where its state is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)

from shoal.config import Count, FrozenModel, Span, dotted, nested_owner, problems, read_yaml, refusal
from shoal.connectors import SINKS, SOURCES, LocalPath, Secret, connector_class
from shoal.errors import PolicyError


class Chosen(NamedTuple):
    """A connector by its name, with its settings."""

    name: str
    settings: BaseModel


def _chosen(known: dict[str, str], value: object, info: ValidationInfo) -> Chosen:
    listed = ", ".join(known)
    if isinstance(value, str):
        value = {value: None}
    if not isinstance(value, Mapping) or len(value) != 1:
        raise refusal(f"is not one connector; write one of {listed}, such as {{file: {{path: people.jsonl}}}}")
    ((name, settings),) = value.items()
    if name not in known:
        near = [f"; did you mean {match!r}?" for match in get_close_matches(str(name), known, n=1)]
        raise refusal((str(name), f"is no connector here; known are {listed}{''.join(near)}"))
    model: type[BaseModel] = connector_class(known, name).Settings
    try:
        return Chosen(name, model.model_validate(settings or {}, context=info.context))
    except ValidationError as error:
        raise refusal(*((f"{name}.{place}" if place else name, text) for place, text in _found(model, error))) from None


Source = Annotated[Chosen, PlainValidator(partial(_chosen, SOURCES)), WithJsonSchema({"type": "object"})]
Sink = Annotated[Chosen, PlainValidator(partial(_chosen, SINKS)), WithJsonSchema({"type": "object"})]


def _lines(path: Path) -> Path:
    if path.suffix != ".jsonl":
        raise refusal("is written as JSON lines; name it .jsonl")
    return path


Lines = Annotated[LocalPath, AfterValidator(_lines)]


class State(FrozenModel):
    """The state from which the pipeline resumes after a crash. It holds raw records, so it is encrypted."""

    dir: LocalPath = Field(description="the folder that holds it")
    checkpoint: Span = Field(default=5.0, gt=0, description="how often the whole state is written, such as 5s")
    key: Secret = Field(description="the secret that it is encrypted with, such as {env: SHOAL_KEY}")


class Late(FrozenModel):
    """Records whose own time is before that of earlier arrivals."""

    allow: Span = Field(description="how far behind is still in time, such as 10s")
    then: Literal["reject", "accept"] = Field(default="reject", description="what to do with those further behind")


class Ahead(FrozenModel):
    """Records whose own time is after the time of day."""

    allow: Span = Field(default=3600.0, description="how far ahead is still accepted, such as 1h")
    then: Literal["reject", "accept"] = Field(default="reject", description="what to do with those further ahead")


class Trace(FrozenModel):
    """How each tuple left, for the audit; private."""

    file: Lines = Field(description="a .jsonl file")
    rotate: Count | None = Field(default=None, description="lines after which a new file begins, such as 1000000")


def _trace(value: object) -> object:
    return {"file": value} if isinstance(value, str | Path) else value


class DeadLetters(FrozenModel):
    """Where rejected records are listed."""

    file: Lines = Field(description="a .jsonl file: row, field, reason, where it came from, and when")
    encrypt: Secret | None = Field(default=None, description="add the record itself, encrypted with this secret")
    most: Count = Field(default=100, description="letters a second; those beyond are summed up by field and reason")


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise refusal("is no address with a port; write it like 127.0.0.1:9464")
    return value


class Telemetry(FrozenModel):
    """Figures for monitoring."""

    prometheus: Annotated[str, AfterValidator(_address)] = Field(description="where to serve /metrics, such as 127.0.0.1:9464")

    @property
    def address(self) -> tuple[str, int]:
        """The host and the port."""
        host, _, port = self.prometheus.rpartition(":")
        return host.strip("[]"), int(port)


class PipelineFile(FrozenModel):
    """A pipeline as it is written.

    >>> file = PipelineFile.parse('''
    ... policy: policy.yaml
    ... source: {file: {path: raw.jsonl, follow: true}}
    ... sink: {file: {path: clean.jsonl}}
    ... state: {dir: state, key: {env: SHOAL_KEY}}
    ... ''', Path("wearables"))
    >>> file.policy, file.source.name, file.state.checkpoint
    (PosixPath('wearables/policy.yaml'), 'file', 5.0)
    """

    policy: LocalPath = Field(description="the policy, a YAML file")
    source: Source = Field(description="where records come from, such as {file: {path: raw.jsonl}}")
    sink: Sink = Field(description="where tuples go, such as {file: {path: clean.jsonl}}")
    bags: Sink | None = Field(
        default=None, description="where bags of stable attributes go (as: bag), such as {file: {path: bags.jsonl}}"
    )
    state: State = Field(description="where the state is kept, such as {dir: state/, key: {env: SHOAL_KEY}}")
    late: Late | None = Field(default=None, description="records out of order, such as {allow: 10s, then: reject}")
    ahead: Ahead = Field(default=Ahead(), description="records from the future, such as {allow: 1h, then: reject}")
    dead_letters: DeadLetters | None = Field(default=None, description="rejected records, such as {file: rejected.jsonl}")
    trace: Annotated[Trace, BeforeValidator(_trace)] | None = Field(
        default=None, description="a .jsonl file that tells how each tuple left, such as {file: trace.jsonl}; private"
    )
    telemetry: Telemetry | None = Field(default=None, description="figures, such as {prometheus: 127.0.0.1:9464}")

    @classmethod
    def load(cls, path: str | Path) -> PipelineFile:
        """A pipeline from its file; a PolicyError lists everything that is wrong with it."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise PolicyError([f"{path}: does not exist; correct the path"]) from None
        except (OSError, UnicodeDecodeError):
            raise PolicyError([f"{path}: cannot be read; check that it is a UTF-8 file and its permissions"]) from None
        return cls.parse(text, path.parent)

    @classmethod
    def parse(cls, text: str, folder: Path | None = None) -> PipelineFile:
        """A pipeline from the text of its file; its paths are relative to the folder."""
        written = read_yaml(text)
        if not isinstance(written, Mapping):
            raise PolicyError(["the pipeline is not a mapping; write it as key: value pairs"])
        try:
            return cls.model_validate(written, context={"folder": folder})
        except ValidationError as error:
            raise PolicyError([f"{place}: {text}" for place, text in _found(cls, error)]) from None


_SHOWN = ("topic", "stream", "subject", "table")  # settings that name a place, and hold neither addresses nor secrets


def described(connector: Chosen) -> str:
    """A connector in a few words, for people who watch: no address, no folder, no secret.

    >>> connector = connector_class(SOURCES, "file")
    >>> described(Chosen("file", connector.Settings(path="private/raw.jsonl")))
    'file raw.jsonl'
    """
    path = getattr(connector.settings, "path", None)
    named = [Path(path).name] if isinstance(path, Path) else []
    named += [value for name in _SHOWN if isinstance(value := getattr(connector.settings, name, None), str)]
    return " ".join([connector.name, *named[:1]])


def refuse_same(file: PipelineFile) -> None:
    """Refuse a file that is named for two purposes."""
    named = {
        "policy": file.policy,
        "source": getattr(file.source.settings, "path", None) if file.source.name == "file" else None,
        "sink": getattr(file.sink.settings, "path", None) if file.sink.name == "file" else None,
        "bags": getattr(file.bags.settings, "path", None) if file.bags and file.bags.name == "file" else None,
        "trace": file.trace and file.trace.file,
        "dead_letters": file.dead_letters and file.dead_letters.file,
    }
    seen: dict[Path, str] = {}
    for name, path in named.items():
        if path and (other := seen.setdefault(path.resolve(), name)) != name:
            raise PolicyError([f"{name}: is the same file as {other}; name another one"])


def _found(model: type[BaseModel], error: ValidationError) -> Iterator[tuple[str, str]]:
    """Pairs of a dotted place and what pydantic found wrong there."""
    for place, text in problems(error, partial(nested_owner, model)):
        yield dotted(place), text
