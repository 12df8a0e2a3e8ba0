"""The JSON schema of policies as it is published with the package."""

from __future__ import annotations

import json

from shoal.policy.policy import Policy

FILE = "policy.schema.json"


def text() -> str:
    """The schema as JSON."""
    return json.dumps(Policy.json_schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
