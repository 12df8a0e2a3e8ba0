"""Runs the notebooks, and keeps what they print and draw in them.

python -m tools.notebooks
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"


def ran(path: Path) -> Any:
    """The notebook as it is after a run; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    home = {"metadata": {"path": str(FOLDER.parent)}}
    NotebookClient(notebook, timeout=300, record_timing=False, coalesce_streams=True, resources=home).execute()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    return notebook


def printed(notebook: Any) -> list[str]:
    """What its cells print, one text a cell."""
    return [
        "".join(output["text"] for output in cell.outputs if output["output_type"] == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        print(path.name)
        nbformat.write(ran(path), path)
