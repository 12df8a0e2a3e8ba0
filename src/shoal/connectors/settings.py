"""Settings that connectors share: secrets, client options, TLS, formats, addresses."""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from shoal.config import FrozenModel, Name, refusal
from shoal.errors import ConnectorError
from shoal.storage import is_address

_SECRETS = (  # endings of the names of options whose values are secret
    "password", "passphrase", "token", "secret", "key.pem", "seed_str", "authorization", "api-key", "api_key", "apikey",
    "cookie", "user.info",
)  # fmt: skip


def _in_folder(path: Path, info: ValidationInfo) -> Path:
    folder = (info.context or {}).get("folder")
    return path if folder is None else folder / path


LocalPath = Annotated[Path, AfterValidator(_in_folder)]  # a path relative to the folder of the pipeline's file


def _address_or_path(value: object, info: ValidationInfo) -> object:
    return value if is_address(value) else _in_folder(Path(str(value)), info)


Folder = Annotated[str | Path, BeforeValidator(_address_or_path)]
"""A folder relative to that of the pipeline's file, or its address in an object store."""


class Secret(FrozenModel):
    """A secret of a pipeline: named in its file, kept in the environment or in another file.

    >>> Secret(env="SHOAL_KEY")
    Secret(env='SHOAL_KEY', file=None)
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    env: str | None = Field(default=None, description="the variable that holds it")
    file: LocalPath | None = Field(default=None, description="the file that holds it, from the folder of the pipeline's file")

    @model_validator(mode="after")
    def _one(self) -> Secret:
        if (self.env is None) == (self.file is None):
            raise refusal("names no one place; write {env: NAME} or {file: PATH}")
        return self

    def read(self) -> str:
        """The secret itself; a ConnectorError if it is missing or empty."""
        if self.env is not None:
            found = os.environ.get(self.env)
            if not found:
                raise ConnectorError(f"{self.env}: is not set in the environment; set it to the secret")
            return found
        assert self.file is not None
        try:
            found = self.file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise ConnectorError(f"{self.file}: cannot be read as a secret; check the name and the permissions") from None
        if not found:
            raise ConnectorError(f"{self.file}: is empty; write the secret into it")
        return found


def _guarded(options: Mapping[str, Secret | bool | int | float | str]) -> Mapping[str, Secret | bool | int | float | str]:
    clear = [key for key, value in options.items() if key.lower().endswith(_SECRETS) and not isinstance(value, Secret)]
    if clear:
        raise refusal(*((key, "is a secret in the clear; write {env: NAME} or {file: PATH}") for key in clear))
    return options


Options = Annotated[Mapping[str, Secret | bool | int | float | str], AfterValidator(_guarded)]
"""Options that are passed to the client unchanged; secrets are given by name."""


def with_secrets(options: Options) -> dict[str, Any]:
    """The options with the values of their secrets, for the client only."""
    return {key: value.read() if isinstance(value, Secret) else value for key, value in options.items()}


class Tls(FrozenModel):
    """The files of a connection over TLS."""

    ca: LocalPath | None = Field(default=None, description="the authorities to trust, instead of the system's")
    cert: LocalPath | None = Field(default=None, description="one's own certificate")
    key: LocalPath | None = Field(default=None, description="the key of one's own certificate")

    @model_validator(mode="after")
    def _paired(self) -> Tls:
        if (self.cert is None) != (self.key is None):
            raise refusal("has one of cert and key; give both")
        return self

    def context(self) -> ssl.SSLContext:
        """The TLS context of these settings; a ConnectorError if a file cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.cert and self.key:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError):
            raise ConnectorError("tls: a file cannot be used; check the names, the permissions and the kind (PEM)") from None
        return context


class InputFormat(FrozenModel):
    """The format of a source's records."""

    format: Literal["json", "csv", "arrow"] = Field(default="json", description="JSON lines, CSV lines, or an Arrow stream")
    columns: tuple[Name, ...] | None = Field(default=None, description="the names of the columns of CSV, which has no header")

    @model_validator(mode="after")
    def _named(self) -> InputFormat:
        if (self.format == "csv") != (self.columns is not None):
            raise refusal(("columns", "go with format: csv, and with no other; name them there, leave them out elsewhere"))
        return self


class OutputFormat(FrozenModel):
    """The format of a sink's tuples."""

    format: Literal["json", "arrow"] = Field(default="json", description="one JSON object, or one Arrow batch, per message")


def _without_credentials(url: str) -> str:
    """Refuse an address with a password in it."""
    if "@" in url:
        raise refusal("has credentials in it; write them as secrets, under options or token")
    return url


Url = Annotated[Name, AfterValidator(_without_credentials)]


def is_loopback(host: str) -> bool:
    """Whether a host can be reached from this machine alone.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
