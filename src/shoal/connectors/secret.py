"""Secrets of a pipeline: named in its file, kept elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from shoal.config.model import FrozenModel, refusal
from shoal.errors import ConnectorError


class Secret(FrozenModel):
    """A text from the environment, or from a file.

    >>> Secret(env="SHOAL_KEY")
    Secret(env='SHOAL_KEY', file=None)
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    env: str | None = Field(default=None, description="the variable that holds it")
    file: Path | None = Field(default=None, description="the file that holds it, from the folder of the pipeline's file")

    @field_validator("file")
    @classmethod
    def _in_folder(cls, file: Path | None, info: ValidationInfo) -> Path | None:
        folder = (info.context or {}).get("folder")
        return file if file is None or folder is None else folder / file

    @model_validator(mode="after")
    def _one(self) -> Secret:
        if (self.env is None) == (self.file is None):
            raise refusal("names no one place; write {env: NAME} or {file: PATH}")
        return self

    def read(self) -> str:
        """The secret itself.

        Raises
        ------
        ConnectorError
            It is not there, or empty.
        """
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
