"""The parent of Spark's workers."""

from __future__ import annotations

import zipfile
from pathlib import Path
from zipimport import zipimporter

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal.spark.daemon import only_if_changed


def test_an_archive_is_read_again_only_if_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "some.zip"

    def write(**modules: str) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in modules.items():
                archive.writestr(f"{name}.py", text)

    read = []

    def forget(importer: zipimporter) -> None:
        read.append(importer)
        original(importer)

    original = zipimporter.invalidate_caches
    if_changed = only_if_changed(forget)
    write(one="x = 1")
    importer = zipimporter(str(path))
    for _ in range(3):
        if_changed(importer)
    assert len(read) == 1
    write(one="x = 1", two="y = 2")
    if_changed(importer)
    if_changed(importer)
    assert len(read) == 2
    assert importer.find_spec("two") is not None
    path.unlink()
    if_changed(importer)
    assert importer.find_spec("two") is None
