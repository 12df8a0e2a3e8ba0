"""Messages of Protobuf as columns, by the schema's own file, which protoc compiles."""

from __future__ import annotations

import base64
import contextlib
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.connectors.record_columns import Columns, listed_columns
from shoal.connectors.schema_registry import Found
from shoal.extras import needs

MAIN = "message.proto"


class ProtobufReader:
    """Reads fields of messages of one schema."""

    def __init__(self, found: Found, fields: Sequence[str]) -> None:
        self._fields = fields
        self._file, self._pool = compiled(found)  # the pool must live as long as its messages
        self._classes: dict[tuple[int, ...], Any] = {}

    def columns(self, records: Sequence[bytes]) -> Columns:
        read, good = [], np.ones(len(records), bool)
        for i, record in enumerate(records):
            try:
                place, start = _place(record)
                message = self._class(place)()
                message.ParseFromString(record[start:])
                read.append(self._plain(message))
            except Exception:
                read.append({})
                good[i] = False
        return Columns(listed_columns(read, self._fields), good)

    def _plain(self, message: Any) -> dict[str, Any]:
        """A message as a record: absent where it is not set, and may be absent."""
        return {field.name: self._value(message, field) for field in message.DESCRIPTOR.fields if _is_set(message, field)}

    def _value(self, message: Any, field: Any) -> Any:
        value = getattr(message, field.name)
        if field.is_repeated:
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                return {str(key): _scalar(each) for key, each in value.items()}
            return [self._one(each, field) for each in value]
        return self._one(value, field)

    def _one(self, value: Any, field: Any) -> Any:
        if field.message_type is not None:
            if field.message_type.full_name == "google.protobuf.Timestamp":
                return value.seconds + value.nanos / 1e9
            if field.message_type.full_name.startswith("google.protobuf.") and field.message_type.name.endswith("Value"):
                return _scalar(value.value) if hasattr(value, "value") else None
            return self._plain(value)
        if field.enum_type is not None:
            symbol = field.enum_type.values_by_number.get(value)
            return symbol.name if symbol else value
        return _scalar(value)

    def _class(self, place: tuple[int, ...]) -> Any:
        if place not in self._classes:
            from google.protobuf import message_factory

            names = list(self._file.message_types_by_name.values())
            found = names[place[0]]
            for step in place[1:]:
                found = found.nested_types[step]
            self._classes[place] = message_factory.GetMessageClass(found)
        return self._classes[place]


def _is_set(message: Any, field: Any) -> bool:
    return bool(not field.has_presence or message.HasField(field.name))


def _scalar(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _place(record: bytes) -> tuple[tuple[int, ...], int]:
    """The place of a message in its file, and where the message itself begins.

    >>> _place(bytes([0, 8])), _place(bytes([4, 2, 0, 8]))
    (((0,), 1), ((1, 0), 3))
    """
    count, at = _whole(record, 0)
    steps = []
    for _ in range(count):
        step, at = _whole(record, at)
        steps.append(step)
    return (tuple(steps) or (0,)), at


def _whole(record: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = record[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number >> 1 ^ -(number & 1), at
        shift += 7


def compiled(found: Found) -> tuple[Any, Any]:
    """The descriptor of a schema's file, and the pool that it is in. Raises ValueError if it cannot be read.

    A registry gives the text of the file, or the file's descriptor in base64, as clients register it.
    """
    with needs("registry", "format: protobuf"):
        from google.protobuf import descriptor_pb2, descriptor_pool
        from google.protobuf.message import DecodeError
    pool = descriptor_pool.DescriptorPool()
    if (main := _described(found.text)) is None:
        files = descriptor_pb2.FileDescriptorSet.FromString(_by_protoc(found)).file
    else:
        try:
            given = {**{name: _described(text) or b"" for name, text in found.others.items()}, MAIN: main}
            files = [descriptor_pb2.FileDescriptorProto.FromString(each) for each in given.values()]
        except DecodeError:
            raise ValueError("no descriptor") from None
        files += [_known(name) for file in files for name in file.dependency if name.startswith("google/protobuf/")]
        files = list({file.name: file for file in reversed(files)}.values())
    for file in files:
        pool.Add(file)
    return pool.FindFileByName(files[-1].name), pool


def _known(name: str) -> Any:
    """The descriptor of one of Protobuf's own files."""
    from importlib import import_module

    module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    from google.protobuf import descriptor_pb2

    return descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


def _described(text: str) -> bytes | None:
    """The bytes of base64; None if it is another text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def _by_protoc(found: Found) -> bytes:
    """The descriptors of a file and of those that it imports."""
    with needs("registry", "format: protobuf"):
        from grpc_tools import protoc
    own = str(Path(protoc.__file__).parent / "_proto")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**found.others, MAIN: found.text}.items():
            place = Path(folder, name).resolve()
            if not place.is_relative_to(Path(folder).resolve()):
                raise ValueError("a name that leads out of the folder")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        target = Path(folder, "all.descriptors")
        with contextlib.redirect_stderr(io.StringIO()):
            arguments = ["", f"-I{folder}", f"-I{own}", f"--descriptor_set_out={target}", "--include_imports", MAIN]
            if protoc.main(arguments):
                raise ValueError("protoc refuses it")
        return target.read_bytes()
