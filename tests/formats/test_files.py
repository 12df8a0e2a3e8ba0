"""Opening, naming, failing: files by suffix, errors that name them, outputs that appear when they are whole."""

from __future__ import annotations

import errno
import gzip
import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import InputError
from shoal.formats import WRITABLE, Reader, open_reader, open_writer
from shoal.formats.writing.writer import Sink
from tests.formats.base import numbers, read, values, write

BATCH = pa.record_batch({"a": pa.array(["x", "y"]), "b": pa.array(["1", None])})


@pytest.mark.parametrize("suffix", [*WRITABLE, ".JSONL", ".Csv.GZ"])
def test_every_format_reads_what_it_writes(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"file{suffix}", BATCH, BATCH)
    blocks = read(path, ["b", "a"])
    assert values(blocks, "a") == ["x", "y", "x", "y"]
    assert [value or None for value in values(blocks, "b")] == ["1", None, "1", None]
    assert numbers(blocks) == [0, 1, 2, 3]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", WRITABLE)
def test_progress_ends_at_the_size_of_the_file(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"file{suffix}", BATCH)
    with open_reader(str(path), ["a"]) as reader:
        assert reader.progress()[0] <= os.path.getsize(path)
        list(reader)
        assert reader.progress() == (os.path.getsize(path), os.path.getsize(path))


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".jsonl.gz", ".csv.gz", ".ndjson"])
def test_writing_nothing_leaves_an_empty_file(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"file{suffix}")
    data = path.read_bytes()
    assert (gzip.decompress(data) if suffix.endswith(".gz") else data) == b""


KNOWN = (
    ".jsonl, .ndjson, .json, .csv, .tsv (each also .gz, .zst, .bz2 or .xz), .parquet, .arrow, .feather, .orc, .avro, "
    ".xlsx, .xls, .xlsb, .ods"
)


@pytest.mark.parametrize("name", ["file.txt", "file", "file.gz", "file.doc"])
def test_an_unknown_suffix_is_refused(name: str) -> None:
    text = f"{name}: unknown kind of file; its name must end in one of {KNOWN}, or be - for standard input or output"
    for opened in (lambda: open_reader(name, ["a"]), lambda: open_writer(name)):
        with pytest.raises(InputError) as caught:
            opened()
        assert str(caught.value) == text


@pytest.mark.parametrize("name", ["file.parquet.gz", "file.arrow.gz"])
def test_what_compresses_itself_is_not_gzipped(name: str) -> None:
    with pytest.raises(InputError) as caught:
        open_writer(name)
    assert str(caught.value) == f"{name}: Parquet and Arrow files compress themselves; name it without .gz"


@pytest.mark.parametrize("suffix", WRITABLE)
def test_an_absent_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"absent{suffix}"
    with pytest.raises(InputError) as caught:
        open_reader(str(path), ["a"])
    assert str(caught.value) == (f"{path}: cannot be read (no such file or directory); check the name and the permissions")


@pytest.mark.parametrize("suffix", WRITABLE)
def test_a_directory_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"folder{suffix}"
    path.mkdir()
    for opened in (lambda: open_reader(str(path), ["a"]), lambda: open_writer(str(path))):
        with pytest.raises(InputError) as caught:
            opened()
        assert str(caught.value) == f"{path}: is a directory; name a file in it"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", BATCH)
    path.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        open_reader(str(path), ["a"])


@pytest.mark.parametrize("suffix", WRITABLE)
def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "absent" / f"out{suffix}"
    with pytest.raises(InputError) as caught:
        open_writer(str(path))
    assert str(caught.value) == f"{path}: cannot be written (no such file or directory); check its folder"


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize("damage", [lambda d: d[:-5], lambda d: d[: len(d) // 2], lambda d: b"plain", lambda d: d + b"x"])
def test_damaged_gzip_is_refused(tmp_path: Path, kind: str, damage: object) -> None:
    path = write(tmp_path / f"in.{kind}.gz", *[BATCH] * 500)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(InputError) as caught:
        read(path, ["a"])
    assert str(caught.value) == f"{path}: the gzip data is cut short or damaged; compress it again"


def test_gzip_members_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n{"a"') + gzip.compress(b": 2}\n"))
    assert values(read(path, ["a"]), "a") == [1, 2]


def test_gzip_is_the_same_each_time_and_names_nothing(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.csv.gz", BATCH), write(tmp_path / "two.csv.gz", BATCH)
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("suffix", WRITABLE)
def test_a_failure_leaves_nothing_behind(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    with pytest.raises(KeyError), open_writer(str(path)) as writer:
        writer.write(BATCH)
        raise KeyError
    assert os.listdir(tmp_path) == []


def test_all_files_are_closed_even_if_the_first_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    sink = Sink(str(tmp_path / "out.jsonl.gz"))
    packed, draft = sink._files
    monkeypatch.setattr(type(packed), "close", full)
    with pytest.raises(InputError, match=r"out.jsonl.gz: cannot be written \(no space left on device\); check its folder"):
        sink.close()
    assert draft.closed
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", WRITABLE)
def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"old")
    with pytest.raises(KeyError), open_writer(str(path)) as writer:
        writer.write(BATCH)
        assert path.read_bytes() == b"old"
        raise KeyError
    assert path.read_bytes() == b"old"
    write(path, BATCH)
    assert values(read(path, ["a"]), "a") == ["x", "y"]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    path = write(tmp_path / "out.csv", BATCH)
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    write(tmp_path / "link.csv", BATCH)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text() == "a,b\nx,1\ny,\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".arrow"])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    path.symlink_to("/dev/full")
    with pytest.raises(InputError) as caught:
        write(path, *[BATCH] * 100_000)
    assert str(caught.value) == f"{path}: cannot be written (no space left on device); check its folder"


def test_named_pipes(tmp_path: Path) -> None:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    thread = threading.Thread(target=write, args=(path, BATCH))
    thread.start()
    with open(path, "rb") as pipe:
        assert pipe.read() == b'{"a": "x", "b": "1"}\n{"a": "y", "b": null}\n'
    thread.join()
    assert os.listdir(tmp_path) == ["pipe.jsonl"]


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=(b"a,b\n1,2\n",))
    thread.start()
    with open_reader(str(path), ["b"]) as reader:
        assert values(list(reader), "b") == ["2"]
        assert reader.progress() == (8, None)
    thread.join()


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, exit_ = io.BytesIO(b'{"a": 1}\n\n{"a": 2}'), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(entry))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(exit_))
    with open_reader("-", ["a"]) as reader, open_writer("-") as writer:
        for block in reader:
            writer.write(block.batch)
        assert reader.progress() == (18, None)
    assert exit_.getvalue() == b'{"a": 1}\n{"a": 2}\n'


def test_lines_of_a_pipe_are_read_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    out, into = os.pipe()
    with open(out) as entry, open(into, "wb", buffering=0) as source:
        monkeypatch.setattr(sys, "stdin", entry)
        with open_reader("-", ["a"]) as reader:
            blocks = iter(reader)
            for number in range(3):
                source.write(b'{"a": %d}\n{"a"' % number if number == 0 else b': 0}\n{"a": %d}\n{"a"' % number)
                assert values([next(blocks)], "a")[-1] == number
            source.close()
            assert next(blocks).bad == [(5, "malformed JSON; give one object per line")]


def test_a_pipe_that_is_closed_stays_a_broken_pipe() -> None:
    script = (
        "import pyarrow as pa\n"
        "from shoal.formats import open_writer\n"
        "try:\n"
        "    with open_writer('-') as writer:\n"
        "        for _ in range(10000): writer.write(pa.record_batch({'a': ['x' * 100] * 100}))\n"
        "except BrokenPipeError:\n"
        "    import os, sys\n"
        "    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())\n"
        "    sys.exit(42)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(60) == 42


def generated(size: int, line: bytes, head: bytes = b"") -> Iterator[bytes]:
    block = line * (1 + (1 << 20) // len(line))
    yield head
    for _ in range(size // len(block)):
        yield block


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(reader: Reader) -> tuple[int, int]:
    """Records read, and by how much the process grew after the first blocks."""
    count = most = 0
    start = 0
    for i, block in enumerate(reader):
        count += len(block.batch)
        if i == 4:
            start = resident()
        elif i > 4 and i % 5 == 0:
            most = max(most, resident() - start)
    return count, most


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.parametrize(
    ("name", "line", "head"),
    [
        ("in.jsonl", b'{"a": 12345, "b": "some text or other", "c": 1.5, "unasked": "more of the same text"}\n', b""),
        ("in.csv", b"12345,some text or other,1.5,more of the same text\n", b"a,b,c,unasked\n"),
    ],
)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, name: str, line: bytes, head: bytes) -> None:
    path = tmp_path / name
    with open(path, "wb") as file:
        file.writelines(generated(100 << 20, line, head))
    with open_reader(str(path), ["a", "b", "c"], passed=["c"]) as reader:
        count, most = growth(reader)
    assert count == (path.stat().st_size - len(head)) // len(line)
    assert most < 50 << 20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_table_in_one_piece_is_not_read_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"in.{suffix}"
    count = 3_000_000
    noise = np.random.default_rng(0).integers(0, 2**62, count)
    table = pa.table({"a": noise, "b": noise[::-1].copy(), "c": noise})
    if suffix == "parquet":
        pq.write_table(table, path, row_group_size=count, compression="none")
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    del table, noise
    assert path.stat().st_size > 60 << 20
    with open_reader(str(path), ["a", "b", "c"], rows=16384) as reader:
        found, most = growth(reader)
    assert found == count
    assert most < 30 << 20


def test_a_slow_reader_does_not_wait_for_a_full_block(monkeypatch: pytest.MonkeyPatch) -> None:
    out, into = os.pipe()
    with open(out) as entry, open(into, "wb", buffering=0) as source:
        monkeypatch.setattr(sys, "stdin", entry)
        source.write(b'{"a": 1}\n')
        with open_reader("-", ["a"]) as reader:
            before = time.monotonic()
            assert values([next(iter(reader))], "a") == [1]
            assert time.monotonic() - before < 5
