"""What the settings of all connectors have in common."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from shoal.config.model import FrozenModel, Name, refusal
from shoal.connectors.secret import Secret
from shoal.errors import ConnectorError

SECRETS = (
    "password", "passphrase", "token", "secret", "key.pem", "seed_str", "authorization", "api-key", "api_key", "apikey",
    "cookie",
)  # fmt: skip
"""How the names of options end whose values are secret."""


def _guarded(options: Mapping[str, Secret | bool | int | float | str]) -> Mapping[str, Secret | bool | int | float | str]:
    clear = [key for key, value in options.items() if key.lower().endswith(SECRETS) and not isinstance(value, Secret)]
    if clear:
        raise refusal(*((key, "is a secret in the clear; write {env: NAME} or {file: PATH}") for key in clear))
    return options


Options = Annotated[Mapping[str, Secret | bool | int | float | str], AfterValidator(_guarded)]
"""Options of a client, passed through as they are; secrets are named."""


def revealed(options: Options) -> dict[str, Any]:
    """The options with their secrets, for the client alone."""
    return {key: value.read() if isinstance(value, Secret) else value for key, value in options.items()}


class Tls(FrozenModel):
    """The files of a connection over TLS."""

    ca: Path | None = Field(default=None, description="the authorities to trust, instead of the system's")
    cert: Path | None = Field(default=None, description="one's own certificate")
    key: Path | None = Field(default=None, description="the key of one's own certificate")

    @field_validator("ca", "cert", "key")
    @classmethod
    def _in_folder(cls, file: Path | None, info: ValidationInfo) -> Path | None:
        folder = (info.context or {}).get("folder")
        return file if file is None or folder is None else folder / file

    @model_validator(mode="after")
    def _paired(self) -> Tls:
        if (self.cert is None) != (self.key is None):
            raise refusal("has one of cert and key; give both")
        return self

    def context(self) -> ssl.SSLContext:
        """The context of TLS that these settings describe.

        Raises
        ------
        ConnectorError
            A file cannot be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.cert and self.key:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError):
            raise ConnectorError("tls: a file cannot be used; check the names, the permissions and the kind (PEM)") from None
        return context


class Arriving(FrozenModel):
    """How a source writes its records."""

    format: Literal["json", "csv", "arrow"] = Field(default="json", description="JSON lines, CSV lines, or an Arrow stream")
    columns: tuple[Name, ...] | None = Field(default=None, description="the names of the columns of CSV, which has no header")

    @model_validator(mode="after")
    def _named(self) -> Arriving:
        if (self.format == "csv") != (self.columns is not None):
            raise refusal(("columns", "go with format: csv, and with no other; name them there, leave them out elsewhere"))
        return self


class Leaving(FrozenModel):
    """How a sink writes its tuples."""

    format: Literal["json", "arrow"] = Field(default="json", description="a JSON object a message, or Arrow, a batch a message")


def plain(url: str) -> str:
    """An address without a password in it."""
    if "@" in url:
        raise refusal("has credentials in it; write them as secrets, under options or token")
    return url


Url = Annotated[Name, AfterValidator(plain)]
