"""A session with an MQTT broker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from shoal.config import Count, FrozenModel, Name
from shoal.connectors.registry import library
from shoal.connectors.settings import Secret, Tls
from shoal.errors import ConnectorError

PATIENCE = 10.0  # seconds to wait for a broker
FOREVER = 0xFFFFFFFF  # the session expiry of MQTT 5 for a session that does not expire
HELD = 1_000  # messages that may be unacknowledged under MQTT 5; the broker may allow fewer
WINDOW = 100  # messages in flight to the broker; under MQTT 5 it may allow fewer
FAILED = 0x80  # reason codes from here on are failures
NOWHERE = "$shoal/nowhere"  # a topic without subscribers


class Broker(FrozenModel):
    """The settings of a broker and a topic."""

    host: Name = Field(description="the broker's host")
    port: Count = Field(default=1883, description="its port; 8883 is usual with TLS")
    topic: Name = Field(description="the topic")
    client: Name = Field(default="shoal", description="the client's id, one for each connection; the broker keeps its session")
    version: Annotated[Literal["3.1.1", "5"], BeforeValidator(str)] = Field(default="5", description="of MQTT: 3.1.1 or 5")
    user: Name | None = Field(default=None, description="the user")
    password: Secret | None = Field(default=None, description="the user's password")
    tls: Tls | None = Field(default=None, description="the files of TLS; {} trusts the system's authorities")
    keepalive: Count = Field(default=30, description="seconds after which a silent connection is tested")


class Session:
    """A client that reconnects by itself; it calls back from its own thread."""

    def __init__(self, given: Broker, lasting: bool, subscribe: bool, on_message: Callable[[Any], None] | None = None) -> None:
        self._mqtt = library("paho.mqtt.client", "mqtt")
        self._properties = library("paho.mqtt.properties", "mqtt")
        self._options = library("paho.mqtt.subscribeoptions", "mqtt")
        self._given, self._lasting, self._subscribes = given, lasting, subscribe
        self.is_five = given.version == "5"
        self.window = WINDOW
        self._ready = threading.Event()
        self._heard = threading.Event()
        self._refusal = ""
        self.has_begun = False
        self.on_return: Callable[[], None] = lambda: None  # called after each connection, before any message
        versions = {} if self.is_five else {"clean_session": not lasting}
        self.client = self._mqtt.Client(
            self._mqtt.CallbackAPIVersion.VERSION2,
            given.client,
            protocol=self._mqtt.MQTTv5 if self.is_five else self._mqtt.MQTTv311,
            manual_ack=subscribe,
            **versions,
        )
        self.client.on_connect, self.client.on_subscribe = self._on_connect, self._on_subscribe
        self.client.on_unsubscribe = self.client.on_disconnect = lambda *_: self._heard.set()
        if on_message:
            self.client.on_message = lambda client, data, message: on_message(message)
        self.client.reconnect_delay_set(1, 5)
        self.client.max_inflight_messages_set(0)
        self.client.max_queued_messages_set(0)
        if given.user:
            self.client.username_pw_set(given.user, given.password.read() if given.password else None)
        if given.tls:
            self.client.tls_set_context(given.tls.context())

    def connect(self) -> None:
        """Connect to the broker; a ConnectorError if it cannot be reached, or refuses."""
        given, place = self._given, f"mqtt {self._given.host}:{self._given.port}"
        five: dict[str, Any] = {}
        if self.is_five:
            properties = self._properties.Properties(library("paho.mqtt.packettypes", "mqtt").PacketTypes.CONNECT)
            properties.ReceiveMaximum = HELD
            if self._lasting:
                properties.SessionExpiryInterval = FOREVER
            five = {"clean_start": not self._lasting, "properties": properties}
        try:
            self.client.connect(given.host, given.port, given.keepalive, **five)
        except (OSError, ValueError) as error:
            raise ConnectorError(f"{place}: cannot be reached ({type(error).__name__}); check host, port and TLS") from None
        self.client.loop_start()
        is_ready = self._ready.wait(PATIENCE)
        if self._refusal or not is_ready:
            self.close()
            reason = self._refusal or f"does not answer within {PATIENCE:.0f} s; check host, port and TLS"
            raise ConnectorError(f"{place}: {reason}")
        self.has_begun = True

    @classmethod
    def probe(cls, given: Broker) -> bool:
        """Connect for a moment under another client id, so that the session of a running pipeline is not taken over."""
        session = cls(given.model_copy(update={"client": f"{given.client}-probe"}), lasting=False, subscribe=False)
        session.connect()
        session.close()
        return True

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.value >= FAILED:
            self._settle(f"refuses the connection ({reason.getName()}); check user, password and client")
            return
        if self.is_five:
            self.window = min(WINDOW, getattr(properties, "ReceiveMaximum", WINDOW))
        self.on_return()
        if not self._subscribes:
            self._ready.set()
        elif self.is_five:
            client.subscribe(self._given.topic, options=self._options.SubscribeOptions(qos=1, retainHandling=2))
        elif not (self.has_begun and flags.session_present):
            client.subscribe(self._given.topic, qos=1)

    def _on_subscribe(self, client: Any, data: Any, mid: int, reasons: list[Any], properties: Any) -> None:
        refused = any(reason.value >= FAILED for reason in reasons)
        self._settle(f"refuses the topic {self._given.topic!r}; check the rights" if refused else "")

    def _settle(self, refusal: str) -> None:
        if not self._ready.is_set():
            self._refusal = refusal
            self._ready.set()

    def close(self) -> None:
        if self._subscribes and self.client.is_connected():
            self._wait_for_answer()
        self.client.disconnect()
        self.client.loop_stop()

    def _wait_for_answer(self) -> None:
        """Wait for an answer of the broker: it has then read all acknowledgements sent before."""
        self._heard.clear()
        self.client.unsubscribe(NOWHERE)
        self._heard.wait(PATIENCE)
