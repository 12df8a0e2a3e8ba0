"""HTTP as a sink: a webhook, by httpx."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
from pydantic import Field

from shoal.config import Count, Span
from shoal.connectors.connector import Position, Sink
from shoal.connectors.message import Message, messages
from shoal.connectors.registry import library
from shoal.connectors.settings import Options, OutputFormat, Secret, Tls, Url, with_secrets
from shoal.errors import ConnectorError

MEDIA = {"json": "application/x-ndjson", "arrow": "application/vnd.apache.arrow.stream"}
PASSING = {408, 425, 429}  # temporary refusals, like all from 500 on
SHORTEST, LONGEST = 0.2, 30.0  # seconds before a request is repeated, at first and at most


class HttpSink(Sink):
    """Posts JSON lines, or an Arrow stream, until the server answers 2xx: at least once, with the number in a header."""

    identity = ("url",)
    remembers = False

    class Settings(OutputFormat):
        url: Url = Field(description="where to post to, such as https://example.org/tuples")
        token: Secret | None = Field(default=None, description="what Authorization: Bearer says")
        headers: Options = Field(default={}, description="headers of every request")
        tls: Tls | None = Field(default=None, description="the files of TLS")
        timeout: Span = Field(default=30.0, gt=0, description="how long an answer may take, such as 30s")
        largest: Count = Field(default=4 << 20, description="bytes of a request")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: Any = None

    def begin(self, mark: Position | None, sequence: int) -> None:
        given = self._settings
        self._httpx = library("httpx", "http")
        library("httpcore", "http")
        headers = {key: str(value) for key, value in with_secrets(given.headers).items()}
        if given.token:
            headers["Authorization"] = f"Bearer {given.token.read()}"
        headers["Content-Type"] = MEDIA[given.format]
        verify = given.tls.context() if given.tls else True
        self._client = self._httpx.Client(headers=headers, verify=verify, timeout=given.timeout)

    def probe(self, mark: Position | None, sequence: int) -> bool:
        """Send an OPTIONS request, which has no effect; any answer will do."""
        self.begin(mark, sequence)
        try:
            self._client.options(self._settings.url)
        except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
            reason = type(error).__name__
            raise ConnectorError(f"http {self._settings.url}: cannot be reached ({reason}); check url and TLS") from None
        finally:
            self.close()
        return True

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        form = "lines" if self._settings.format == "json" else "arrow"
        for message in messages(batch, sequence, form, self._settings.largest):
            pause = SHORTEST
            while (wanted := self._posted(message)) is not None:
                time.sleep(max(pause, wanted))
                pause = min(2 * pause, LONGEST)

    def _posted(self, message: Message) -> float | None:
        """Post a message: None if it was accepted, else the seconds that the server asks to wait."""
        place = f"http {self._settings.url}"
        headers = {"Shoal-Sequence": str(message.sequence), "Shoal-Tuples": str(message.tuples)}
        try:
            answer = self._client.post(self._settings.url, content=message.payload, headers=headers)
        except self._httpx.TransportError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise ConnectorError(f"{place}: has a certificate that is not trusted; name its authority under tls") from None
            return 0.0
        except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
            raise ConnectorError(f"{place}: cannot be used ({type(error).__name__}); correct the url") from None
        if answer.is_success:
            return None
        if answer.status_code >= 500 or answer.status_code in PASSING:
            wanted = answer.headers.get("retry-after", "")
            return min(float(wanted), LONGEST) if wanted.isdecimal() else 0.0
        raise ConnectorError(f"{place}: answers {answer.status_code}; correct the url, the token, or the other side's limits")

    def caught_up(self, sequence: int) -> None:
        """It does not know which tuples it has."""

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
