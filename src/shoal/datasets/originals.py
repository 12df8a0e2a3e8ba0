"""The original downloads, put where shoal looks for them, with their hierarchies and a note on where they come from."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from shoal.datasets import adult, informs, returning, trees, weather
from shoal.datasets.dataset import DataSet, found
from shoal.errors import InputError

NOTE = "source.json"


@dataclass(frozen=True)
class Original:
    """A data set as others publish it."""

    title: str
    page: str
    licence: str
    folder: str
    files: Mapping[str, str]  # SHA-256 by name
    needed: Sequence[str]  # without these there is no data set; of the others those that are given are taken
    hierarchies: Mapping[str, trees.Tree]
    check: Callable[[Path, str], DataSet]  # reads a file that was prepared, in the folder of all data
    command: str = ""  # writes the files, if the page has them in another form

    @property
    def remedy(self) -> str:
        """How to get the files."""
        return f"write it by {self.command}" if self.command else f"download it from {self.page}"


def _city(file: str) -> str:
    return file.split("PM", 1)[0]


def _in_r(package: str, *tables: str) -> str:
    """The command that writes tables of an R package.

    >>> print(_in_r("mlmRev", "star"))
    Rscript -e 'library(mlmRev); write.csv(star, "star.csv", row.names = FALSE)'
    """
    written = "".join(f'; write.csv({table}, "{table}.csv", row.names = FALSE)' for table in tables)
    return f"Rscript -e 'library({package}){written}'"


ORIGINALS: Mapping[str, Original] = {
    "adult": Original(
        "UCI Adult", "https://archive.ics.uci.edu/dataset/2/adult", "CC BY 4.0", "adult",
        {
            "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        },
        ["adult.data"], trees.ADULT, lambda data, file: adult.dataset(adult.folder(data)),
    ),
    "informs": Original(
        "INFORMS 2008 data mining contest", "https://sites.google.com/site/informsdataminingcontest",
        "from MEPS of the AHRQ, public use", "informs",
        {
            "demographics05test.csv": "4427129f7f4d939190dc659a66afed2d0fd4a5128bd3cb05ef987b0fd1371111",
            "conditions05.csv": "46e39a90eeb355bb31c0002c3282f374d16badd3542c0fe81374408f0dea6880",
        },
        ["demographics05test.csv"], trees.INFORMS, lambda data, file: informs.within(data),
    ),
    "pm25": Original(
        "UCI PM2.5 of five Chinese cities", weather.place(weather.CITIES[0]).page, "CC BY 4.0", "pm25",
        {
            "BeijingPM20100101_20151231.csv": "12bc0dc800e02a2c11b79c29a246c3a55d8b9516145cd870b3c33b48521f2523",
            "ChengduPM20100101_20151231.csv": "bcba1c9e513a2f0fa89101822a5a565a7640a4a221ec62c089173237f5d72a9e",
            "GuangzhouPM20100101_20151231.csv": "72ab8389d9967ec32a6d2206cac9275552f81d849200714081359cb3442dfc72",
            "ShanghaiPM20100101_20151231.csv": "49258afcca08ca1a5c76379c31a439cc0179f53371842f14fd6ee6127ebffc14",
            "ShenyangPM20100101_20151231.csv": "3d5a694492b22e4c2405230c1e5dff8d55726a468396b02990302f8312e42046",
        },
        [], trees.WEATHER, lambda data, file: weather.within(data, _city(file)),
    ),
    "nafld": Original(
        "NAFLD, patients in Minnesota, in the R package survival", returning.PATIENTS.page, "LGPL-2 or newer", "nafld",
        {
            "nafld1.csv": "f04dcb7632758863836cf36243523f21a4b3832b0dafe664592c3845aee7411b",
            "nafld2.csv": "697a5eb258b94d8a06ffeb052b3879dbd27291d8f7214c90c9ff7725524c3e6a",
        },
        ["nafld1.csv", "nafld2.csv"], trees.NAFLD, lambda data, file: returning.nafld(data),
        _in_r("survival", "nafld1", "nafld2"),
    ),
    "star": Original(
        "Project STAR, pupils in Tennessee, in the R package mlmRev", returning.PUPILS.page, "GPL-2 or newer", "star",
        {"star.csv": "f55a651ebe74321e245847c0968c31e0fdd4adfd1ab7cc6a21b497b131d099d3"},
        ["star.csv"], trees.STAR, lambda data, file: returning.star(data),
        _in_r("mlmRev", "star"),
    ),
}  # fmt: skip


def known_files(data: Path) -> list[Path]:
    """The files of all data sets that lie in the folder of all data."""
    places = (found(data / each.folder / file) for each in ORIGINALS.values() for file in each.files)
    return [place for place in places if place]


@dataclass(frozen=True)
class Prepared:
    """A file of a data set that lies where shoal looks for it."""

    file: str
    sha256: str
    known: bool  # whether it is the very file that the figures of shoal were made from


def prepare(name: str, downloads: Sequence[str | Path], data: Path, *, accept: bool = False) -> list[Prepared]:
    """Put the files of a data set under the folder of all data: plain, gzipped, or in a zip archive.

    The hierarchies are written beside them, and `source.json` says where each file comes from. A file with another digest than
    the one that the figures of shoal were made from is refused unless it is accepted.

    Raises InputError if the data set is unknown, a file is missing, unknown or damaged, or the folder cannot be written.
    """
    if name not in ORIGINALS:
        raise InputError(f"data {name!r} is none; known are {', '.join(ORIGINALS)}")
    original = ORIGINALS[name]
    contents = {file: content for place in downloads for file, content in _unpacked(Path(place)) if file in original.files}
    absent = [file for file in original.needed if file not in contents]
    if absent or not contents:
        raise InputError(f"{name}: lacks {', '.join(absent or original.files)}; {original.remedy} and name it")
    prepared = [
        Prepared(file, digest, digest == original.files[file])
        for file, digest in ((file, hashlib.sha256(content).hexdigest()) for file, content in contents.items())
    ]
    for each in prepared:
        if not each.known and not accept:
            raise InputError(
                f"{each.file}: is not the file that the figures of shoal were made from (SHA-256 {each.sha256}, not "
                f"{original.files[each.file]}); {original.remedy} again, or take it by --accept"
            )
    _write(original, contents, prepared, data)
    for file in contents:
        if file not in ("adult.test", "conditions05.csv"):
            original.check(data, file)
    return prepared


def _write(original: Original, contents: Mapping[str, bytes], prepared: Sequence[Prepared], data: Path) -> None:
    home = data / original.folder
    note = {
        "title": original.title, "page": original.page, "licence": original.licence,
        "files": [asdict(each) for each in prepared],
        "hierarchies": "written by shoal; see shoal/datasets/trees.py",
    }  # fmt: skip
    try:
        (home / "hierarchies").mkdir(parents=True, exist_ok=True)
        for file, content in contents.items():
            (home / file).write_bytes(content)
        for attribute, tree in original.hierarchies.items():
            text = "".join(f"{line}\n" for line in trees.lines(tree))
            (home / "hierarchies" / f"{attribute}.csv").write_text(text, encoding="utf-8")
        (home / NOTE).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{home}: cannot be written ({(error.strerror or 'no access').lower()}); name another folder"
        ) from None


def _unpacked(place: Path) -> Iterator[tuple[str, bytes]]:
    """The files at a place, by their names without folders."""
    try:
        if place.suffix == ".zip":
            with zipfile.ZipFile(place) as archive:
                yield from ((Path(each.filename).name, archive.read(each)) for each in archive.infolist() if not each.is_dir())
        elif place.suffix == ".gz":
            yield place.name.removesuffix(".gz"), gzip.decompress(place.read_bytes())
        else:
            yield place.name, place.read_bytes()
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError):
        raise InputError(f"{place}: cannot be read; check the path, or download it again") from None
