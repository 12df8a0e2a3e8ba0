"""Connectors by name, and client libraries. Both are imported when they are used."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from shoal.errors import ConnectorError

SOURCES = {
    "file": "file.FileSource",
    "folder": "folder_source.FolderSource",
    "stdin": "stdio.StdinSource",
    "kafka": "kafka_source.KafkaSource",
    "nats": "nats_source.NatsSource",
    "mqtt": "mqtt.MqttSource",
    "http": "http.HttpSource",
    "postgres": "postgres_source.PostgresSource",
}
SINKS = {
    "file": "file.FileSink",
    "stdout": "stdio.StdoutSink",
    "kafka": "kafka_sink.KafkaSink",
    "nats": "nats_sink.NatsSink",
    "mqtt": "mqtt.MqttSink",
    "http": "http.HttpSink",
    "parquet": "parquet_sink.ParquetSink",
    "postgres": "postgres_sink.PostgresSink",
    "delta": "delta_sink.DeltaSink",
    "iceberg": "iceberg_sink.IcebergSink",
}


def connector_class(names: dict[str, str], name: str) -> Any:
    """The class of a source or a sink; its `Settings` are what a pipeline's file says under its name.

    >>> connector_class(SINKS, "file").remembers
    True
    """
    module, _, found = names[name].partition(".")
    return getattr(import_module(f"shoal.connectors.{module}"), found)


def library(name: str, extra: str) -> Any:
    """A module of a client library. Its log is not shown, since it could hold data.

    >>> library("no_such_client", "kafka")
    Traceback (most recent call last):
    shoal.errors.ConnectorError: the client of 'kafka' is not installed; install it with pip install 'shoal-stream[kafka]'
    """
    try:
        module = import_module(name)
    except ImportError:
        raise ConnectorError(
            f"the client of {extra!r} is not installed; install it with pip install 'shoal-stream[{extra}]'"
        ) from None
    silent_logger(name.partition(".")[0])
    return module


def silent_logger(name: str) -> logging.Logger:
    """A logger whose output is not shown."""
    logger = logging.getLogger(name)
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger
