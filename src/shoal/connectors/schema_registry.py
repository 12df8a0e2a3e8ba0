"""A schema registry: where schemas of messages are found by their ids, and those of tuples are registered.

A message in the registry's wire format is a zero, four bytes that are the id of its schema, and the record. With Protobuf the
place of its message in the schema's file comes between.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import Field

from shoal.config import FrozenModel
from shoal.connectors.registry import library, silent_logger
from shoal.connectors.settings import Options, Url, with_secrets
from shoal.errors import ConnectorError

FORMATS = ("avro", "protobuf", "json-schema")
PREFIX = 5  # bytes before a record


class Registry(FrozenModel):
    """The settings of a schema registry."""

    url: Url = Field(description="its address, such as http://localhost:8081")
    options: Options = Field(default={}, description="options of the client, such as ssl.ca.location or basic.auth.user.info")


class Found(NamedTuple):
    """A schema of the registry, with the texts of the schemas that it refers to by name."""

    kind: str  # AVRO, PROTOBUF or JSON
    text: str
    others: dict[str, str]


class SchemaRegistry:
    """The client of a registry. What it was asked once it remembers."""

    def __init__(self, settings: Registry) -> None:
        self._url = settings.url
        self._module = library("confluent_kafka.schema_registry", "registry")
        for name in ("httpx", "httpcore", "httpx2", "httpcore2"):  # their logs could hold credentials
            silent_logger(name)
        try:
            self._client = self._module.SchemaRegistryClient({"url": settings.url, **with_secrets(settings.options)})
        except (ValueError, TypeError):
            raise ConnectorError("registry: the client refuses its options; check their names and values") from None
        self._known: dict[int, Found] = {}

    def refuse_absence(self) -> None:
        """Before anything is read: it answers, whatever it says."""
        try:
            self._client.get_config()
        except self._module.error.SchemaRegistryError:
            pass
        except Exception:
            raise self._away() from None

    def schema(self, number: int) -> Found:
        """The schema with an id."""
        if number not in self._known:
            found = self._asked(lambda: self._client.get_schema(number), f"schema {number}")
            self._known[number] = Found(found.schema_type or "AVRO", found.schema_str, self._others(found))
        return self._known[number]

    def _others(self, schema: Any) -> dict[str, str]:
        others: dict[str, str] = {}
        for each in schema.references or ():
            version = self._asked(
                lambda each=each: self._client.get_version(each.subject, each.version), f"subject {each.subject!r}"
            )
            others |= {**self._others(version.schema), each.name: version.schema.schema_str}
        return others

    def latest(self, subject: str) -> Found:
        """The newest schema of a subject."""
        found = self._asked(lambda: self._client.get_latest_version(subject), f"subject {subject!r}").schema
        return Found(found.schema_type or "AVRO", found.schema_str, self._others(found))

    def register(self, subject: str, kind: str, text: str) -> int:
        """Register the schema of tuples, if it is new; its id."""
        schema = self._module.Schema(text, kind)
        return int(self._asked(lambda: self._client.register_schema(subject, schema), f"subject {subject!r}"))

    def check(self, subject: str, kind: str, text: str) -> None:
        """Refuse a schema that could not be registered; a subject that does not exist yet takes any."""
        schema = self._module.Schema(text, kind)
        try:
            fits = self._client.test_compatibility(subject, schema)
        except self._module.error.SchemaRegistryError as error:
            if error.http_status_code == 404:
                return
            raise self._refused(error, f"subject {subject!r}") from None
        except Exception:
            raise self._away() from None
        if not fits:
            raise _incompatible(subject)

    def _asked(self, question: Any, what: str) -> Any:
        try:
            return question()
        except self._module.error.SchemaRegistryError as error:
            raise self._refused(error, what) from None
        except Exception:  # of the HTTP client, which names addresses and more
            raise self._away() from None

    def _refused(self, error: Any, what: str) -> ConnectorError:
        if error.http_status_code == 409:
            return _incompatible(what.partition(" ")[2].strip("'"))
        if error.http_status_code == 404:
            return ConnectorError(f"registry: {self._url} has no {what}; check its address")
        return ConnectorError(
            f"registry: {self._url} does not give {what} (status {error.http_status_code}); check its address and the rights"
        )

    def _away(self) -> ConnectorError:
        return ConnectorError(f"registry: {self._url} does not answer; check its address, and start the pipeline again")


def _incompatible(subject: str) -> ConnectorError:
    return ConnectorError(
        f"registry: the schema of what the policy publishes is not compatible with that of subject {subject!r}; write to "
        "another topic, or relax the subject's compatibility"
    )


def with_id(number: int, kind: str) -> bytes:
    """What stands before a record: the first message of its file, with Protobuf.

    >>> with_id(7, "AVRO")
    b'\\x00\\x00\\x00\\x00\\x07'
    """
    return b"\0" + number.to_bytes(4, "big") + (b"\0" if kind == "PROTOBUF" else b"")


def id_of(payload: bytes) -> int | None:
    """The id of the schema of a message; None if it is in no wire format.

    >>> id_of(bytes([0, 0, 0, 0, 7, 1])), id_of(b'{"a": 1}')
    (7, None)
    """
    return int.from_bytes(payload[1:PREFIX], "big") if len(payload) >= PREFIX and payload[0] == 0 else None
