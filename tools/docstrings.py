"""Examples that stand in a docstring without a heading are shown as code; an extension of griffe, see mkdocs.yml."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text with its bare examples between fences.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nNo more.")
    'Adds.\\n\\n```python\\n>>> 1 + 1\\n2\\n```\\n\\nNo more.'
    """
    parts = text.split("\n\n")
    return "\n\n".join(f"```python\n{part}\n```" if part.startswith(">>> ") else part for part in parts)


class Fences(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring and "\nExamples\n---" not in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
