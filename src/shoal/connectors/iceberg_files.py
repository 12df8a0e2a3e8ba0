"""The files of an Iceberg table on a local disk, which has each before the catalogue names it: pyiceberg does not wait."""

from __future__ import annotations

import io
import os

from pyiceberg.io import OutputStream
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from shoal.storage import force, local_path

_named: set[str] = set()  # folders whose names are on the disk


class DurableFileIO(PyArrowFileIO):
    """Catalogues take it by its name."""

    def new_output(self, location: str) -> PyArrowFile:
        output = super().new_output(location)
        path = local_path(location)
        return output if path is None else _Output(path, output)


class _Output(PyArrowFile):
    def __init__(self, path: str, output: PyArrowFile) -> None:
        super().__init__(location=output.location, path=path, fs=output._filesystem)
        self._local = path

    def create(self, overwrite: bool = False) -> OutputStream:
        _make_folder(os.path.dirname(os.path.abspath(self._local)))
        return io.BufferedWriter(_Forced(self._local, "wb" if overwrite else "xb"))


class _Forced(io.FileIO):
    def close(self) -> None:
        if not self.closed:
            os.fsync(self.fileno())
            super().close()
            force(os.path.dirname(os.path.abspath(str(self.name))))


def _make_folder(folder: str) -> None:
    """Create a folder, and those above it, so that their names are on the disk."""
    if folder in _named:
        return
    parent = os.path.dirname(folder)
    if not os.path.isdir(folder):
        _make_folder(parent)
        os.makedirs(folder, exist_ok=True)
        force(parent)
    _named.add(folder)
