"""Small ugly files, as people have them, each with what must become of it.

`python tests/ugly/make.py` writes them anew into `tests/ugly/files`; none holds real data.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Mapping
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import NamedTuple

FOLDER = Path(__file__).parent / "files"


class Ugly(NamedTuple):
    """A file, and what `infer` must find: how it is written, and its rows; or the end of the error."""

    name: str
    data: bytes
    said: str = ""  # how it is written, in words
    settings: Mapping[str, object] = MappingProxyType({})  # of the drafted `input`
    rows: int = 0
    fields: tuple[str, ...] = ()
    error: str = ""
    bad: int = 0


PLAIN = "commas between fields, UTF-8, a header"
LINES = [("Ann", "34", "1.75"), ("Bo", "58", "1.8"), ("Cy", "21", "1.625"), ("Di", "47", "1.9"), ("Ed", "63", "1.55")]
NAMES = ("name", "age", "height")


def table(separator: str = ",", end: str = "\n", decimal: str = ".", header: bool = True, quote: str = "") -> str:
    rows = [NAMES, *LINES] if header else LINES
    return end.join(separator.join(f"{quote}{cell.replace('.', decimal)}{quote}" for cell in row) for row in rows) + end


def lines(*rows: str) -> bytes:
    return ("\n".join(rows) + "\n").encode()


SEMICOLON = {"separator": ";"}
EURO = {"separator": ";", "decimal": ","}
NO_TEXT = "is no text, since it holds bytes that no text has; is the name of the file right?"
COLUMNS = ("column_1", "column_2", "column_3")
CASES = [
    Ugly("plain.csv", table().encode(), PLAIN, {}, 5, NAMES),
    Ugly("mark.csv", b"\xef\xbb\xbf" + table().encode(), PLAIN, {}, 5, NAMES),
    Ugly("crlf.csv", table(end="\r\n").encode(), PLAIN, {}, 5, NAMES),
    Ugly("cr.csv", table(end="\r").encode(), PLAIN, {}, 5, NAMES),
    Ugly("no-last-end.csv", table().encode().rstrip(), PLAIN, {}, 5, NAMES),
    Ugly("blank-lines.csv", table().replace("\n", "\n\n").encode(), PLAIN, {}, 5, NAMES),
    Ugly(
        "titles.csv",
        ("Our guests\nof 2025\n\n" + table(";", decimal=",")).encode(),
        error="its first 3 lines are no header: those below have more fields; remove what stands above the header, or "
        "the marks at the ends of the lines",
    ),
    Ugly(
        "title.csv",
        ("Our guests\n" + table()).encode(),
        error="its first line is no header: those below have more fields; remove what stands above the header, or "
        "the marks at the ends of the lines",
    ),
    Ugly("semicolon.csv", table(";").encode(), "semicolons between fields, UTF-8, a header", SEMICOLON, 5, NAMES),
    Ugly("bar.csv", table("|").encode(), "bars between fields, UTF-8, a header", {"separator": "|"}, 5, NAMES),
    Ugly("tab.csv", table("\t").encode(), "tabs between fields, UTF-8, a header", {"separator": "\t"}, 5, NAMES),
    Ugly("tab.tsv", table("\t").encode(), "tabs between fields, UTF-8, a header", {}, 5, NAMES),
    Ugly("comma-text.tsv", lines("a\tb", "1,x\ty", "2\tz,z"), "tabs between fields, UTF-8, a header", {}, 2, ("a", "b")),
    Ugly(
        "euro.csv",
        table(";", decimal=",").encode(),
        "semicolons between fields, UTF-8, decimal commas, a header",
        EURO,
        5,
        NAMES,
    ),
    Ugly(
        "excel-sep.csv",
        b"sep=;\r\n" + table(";", end="\r\n", decimal=",").encode(),
        "semicolons between fields, UTF-8, decimal commas, a header",
        EURO,
        5,
        NAMES,
    ),
    Ugly(
        "cp1252.csv",
        "town;price\nKöln;3,50 \nMálaga;12,25\n€-Stadt;1,75\n".encode("cp1252"),
        "semicolons between fields, Windows-1252, decimal commas, a header",
        {**EURO, "encoding": "cp1252"},
        3,
        ("town", "price"),
    ),
    Ugly(
        "latin1.csv",
        b"town,size\nK\xf6ln,3\nA\x81lborg,4\n",
        "commas between fields, Latin-1, a header, control characters among the letters: it may be in another encoding, such as "
        "CP850 (iconv -f … -t UTF-8)",
        {"encoding": "latin-1"},
        2,
        ("town", "size"),
    ),
    Ugly("utf16.csv", table().encode("utf-16"), "commas between fields, UTF-16, a header", {"encoding": "utf-16"}, 5, NAMES),
    Ugly(
        "utf16-tab.csv",
        b"\xfe\xff" + table("\t").encode("utf-16-be"),
        "tabs between fields, UTF-16, a header",
        {"separator": "\t", "encoding": "utf-16"},
        5,
        NAMES,
    ),
    Ugly(
        "utf16-no-mark.csv",
        table().encode("utf-16-le"),
        error="seems to be UTF-16 without a mark; save it as UTF-8, or with the mark",
    ),
    Ugly("utf32.csv", table().encode("utf-32"), error="is UTF-32; save it as UTF-8"),
    Ugly(
        "cyrillic.csv",
        "имя,город\nАнна,Москва\nИван,Казань\n".encode("cp1251"),
        error="is neither UTF-8, nor UTF-16 with a mark, nor Windows-1252 or Latin-1; convert it: iconv -f … -t UTF-8",
    ),
    Ugly(
        "thousands.csv",
        lines("k;v", "1;1.234,50", "2;12.000,75", "3;1,25"),
        "semicolons between fields, UTF-8, decimal commas, points between thousands, a header",
        {**EURO, "thousands": "."},
        3,
        ("k", "v"),
    ),
    Ugly(
        "us-thousands.csv",
        lines("k,v", '1,"1,234.50"', '2,"12,000.75"', "3,1.25"),
        "commas between fields, UTF-8, commas between thousands, a header",
        {"thousands": ","},
        3,
        ("k", "v"),
    ),
    Ugly(
        "swiss.csv",
        lines("k;v", "1;1'234.50", "2;12'000.75", "3;1.25"),
        "semicolons between fields, UTF-8, apostrophes between thousands, a header",
        {**SEMICOLON, "thousands": "'"},
        3,
        ("k", "v"),
    ),
    Ugly(
        "spaces.csv",
        lines("k;v", "1;1 234,50", "2;12 000,75", "3;1,25"),
        "semicolons between fields, UTF-8, decimal commas, spaces between thousands, a header",
        {**EURO, "thousands": " "},
        3,
        ("k", "v"),
    ),
    Ugly(
        "two-readings.csv",
        lines("k;v", "1;1,234", "2;5,678"),
        "semicolons between fields, UTF-8, a header, numbers like 1,234 that can be read as 1.234 and as 1234 "
        "(set input.decimal or input.thousands)",
        SEMICOLON,
        2,
        ("k", "v"),
    ),
    Ugly(
        "single-quotes.csv",
        table(quote="'").encode(),
        "commas between fields, UTF-8, values in '…', a header",
        {"quote": "'"},
        5,
        NAMES,
    ),
    Ugly("quotes.csv", table(quote='"').encode(), PLAIN, {}, 5, NAMES),
    Ugly("apostrophes.csv", lines("name,town", "O'Brien,'s-Gravenhage", "D'Arcy,Rome"), PLAIN, {}, 2, ("name", "town")),
    Ugly("line-in-value.csv", lines("a,b", '1,"two', 'lines"', "2,x"), PLAIN, {}, 2, ("a", "b")),
    Ugly("doubled-quotes.csv", lines("a,b", '1,"say ""hi"", twice"', "2,x"), PLAIN, {}, 2, ("a", "b")),
    Ugly(
        "separator-in-quotes.csv",
        lines("a;b", '1;"x;y"', "2;z"),
        "semicolons between fields, UTF-8, a header",
        SEMICOLON,
        2,
        ("a", "b"),
    ),
    Ugly("ragged.csv", lines("a,b", "1,2", "3", "4,5,6", "7,8"), PLAIN, {}, 2, ("a", "b"), bad=2),
    Ugly("unclosed.csv", b'a,b\n1,2\n3,"never\n4,5\n', PLAIN, {}, 2, ("a", "b"), bad=1),
    Ugly(
        "no-header.csv",
        table(header=False).encode(),
        "commas between fields, UTF-8, no header",
        {"header": list(COLUMNS)},
        5,
        COLUMNS,
    ),
    Ugly(
        "no-header-euro.csv",
        table(";", decimal=",", header=False).encode(),
        "semicolons between fields, UTF-8, decimal commas, no header",
        {**EURO, "header": list(COLUMNS)},
        5,
        COLUMNS,
    ),
    Ugly(
        "marks-at-ends.csv",
        lines("name;age;town", "Ann;34;Rome;", "Bo;58;Oslo;", "Cy;21;Bern;"),
        error="its first line is no header: those below have more fields; remove what stands above the header, or "
        "the marks at the ends of the lines",
    ),
    Ugly("blank-names.csv", lines("name,,,age,,", "Ann,,x,34,,", "Bo,,y,58,,"), PLAIN, {}, 2, ("name", "age")),
    Ugly(
        "json-lines.csv",
        lines('{"who": "Ann", "age": 34}', '{"who": "Bo", "age": 58}'),
        error="is no CSV, but begins like JSON; name it .jsonl, or .json if it is one array",
    ),
    Ugly(
        "page.csv",
        b"<!DOCTYPE html><table><tr><td>1</td></tr></table>\n",
        error="is no CSV, but begins like a page or XML; export the table as CSV",
    ),
    Ugly(
        "stray-latin1.csv",
        b"town,size\n" + "Köln,3\nZürich,4\n".encode() * 20 + "Graz für,5\n".encode("latin-1"),
        PLAIN,
        {},
        40,
        ("town", "size"),
        bad=1,
    ),
    Ugly("packed-dates.csv", lines("born,n", "19530412,1", "19991231,2"), PLAIN, {}, 2, ("born", "n")),
    Ugly("header-only.csv", b"name,age\n", error="has no records, since a draft needs some to look at"),
    Ugly("empty.csv", b"", error="is empty; the first line of a CSV file must name its columns"),
    Ugly("only-blank.csv", b"\n\n\r\n", error="is empty; the first line of a CSV file must name its columns"),
    Ugly(
        "twins.csv",
        lines("a,b,a", "1,2,3"),
        error="the header names columns 1 and 3 alike; rename one of them, or add a header",
    ),
    Ugly("one-column.csv", lines("age", "34", "58"), PLAIN, {}, 2, ("age",)),
    Ugly("random.csv", Random(5).randbytes(2000), error=NO_TEXT),
    Ugly("random-short.csv", Random(6).randbytes(60), error=NO_TEXT),
    Ugly("zeros.csv", b"a,b\n" + bytes(40), error="seems to be UTF-16 without a mark; save it as UTF-8, or with the mark"),
    Ugly(
        "workbook.csv",
        b"PK\x03\x04\x14\x00\x06\x00" + bytes(30),
        error="is no text, but begins like a ZIP archive or an Excel workbook; unpack it, or name it .xlsx",
    ),
    Ugly(
        "parquet.csv",
        b"PAR1\x15\x04\x15\x10\x00" + bytes(20),
        error="is no text, but begins like a Parquet file; name it .parquet",
    ),
    Ugly(
        "gzipped.csv",
        gzip.compress(table().encode(), mtime=0),
        error="is no text, but begins like gzip data; name it with .gz at the end",
    ),
    Ugly(
        "packed.csv.gz",
        gzip.compress(table(";").encode(), mtime=0),
        "semicolons between fields, UTF-8, a header",
        SEMICOLON,
        5,
        NAMES,
    ),
    Ugly("packed.csv.bz2", bz2.compress(table().encode()), PLAIN, {}, 5, NAMES),
    Ugly("packed.tsv.xz", lzma.compress(table("\t").encode()), "tabs between fields, UTF-8, a header", {}, 5, NAMES),
    Ugly(
        "cut-short.csv.gz",
        gzip.compress(table().encode() * 50, mtime=0)[:60],
        error="the gzip data is cut short or damaged; compress it again",
    ),
    Ugly(
        "utf16.jsonl",
        '{"name": "Zoë", "age": 3}\n{"name": "Bo", "age": 4}\n'.encode("utf-16"),
        "UTF-16",
        {"encoding": "utf-16"},
        2,
        ("name", "age"),
    ),
    Ugly(
        "nested.jsonl",
        lines('{"who": {"age": 3, "home": {"zip": "1"}}}', '{"who": {"age": 4, "home": {"zip": "2"}}}'),
        "",
        {},
        2,
        ("who.age", "who.home.zip"),
    ),
    Ugly("list.jsonl", lines('{"a": 1, "tags": ["x"]}', '{"a": 2, "tags": []}'), "", {}, 2, ("a", "tags")),
    Ugly("caret.csv", table("^").encode(), "carets between fields, UTF-8, a header", {"separator": "^"}, 5, NAMES),
    Ugly(
        "colon.csv",
        table(":").encode(),
        f'{PLAIN}, one column alone: set input.separator: ":" if it stands between fields',
        {},
        5,
        ("name:age:height",),
    ),
    Ugly(
        "quoted-lines.csv",
        "".join(f'"{line}"\n' for line in table().splitlines()).encode(),
        f"{PLAIN}, one column alone: whole lines stand in quotes (remove those)",
        {},
        5,
        ("name,age,height",),
    ),
    Ugly(
        "spaced-quotes.csv",
        lines('"name", "town"', '"Ann", "Rome"', '"Bo", "Oslo"'),
        f"{PLAIN}, spaces before quotes, which become part of the values (remove them)",
        {},
        2,
        ("name", ' "town"'),
    ),
    Ugly(
        "escaped-quotes.csv",
        lines("name,said,age", *(rf'{name},"he \"smiled\", and left",{age}' for name, age, _ in LINES)),
        error="its first line is no header: those below have more fields; quotes with a backslash before them: write them "
        'twice instead, as in ""; or remove what stands above the header, or the marks at the ends of the lines',
    ),
    Ugly(
        "some-escaped-quotes.csv",
        lines("name,said", r'Ann,"a \"b\" c"', "Bo,x", "Cy,y"),
        f'{PLAIN}, quotes with a backslash before them: write them twice instead, as in ""',
        {},
        3,
        ("name", "said"),
    ),
    Ugly(
        "wrapper.json",
        b'{"count": 2, "data": [{"a": 1}, {"a": 2}]}\n',
        error="holds one record alone, with lists in it; if those hold the records, take them out, as jq -c '.data[]' in.json > "
        "out.jsonl does with those under data",
    ),
    Ugly("null-object.jsonl", lines('{"a": 1, "b": null}', *['{"a": 2, "b": {"c": 3}}'] * 5), "", {}, 6, ("a", "b.c")),
    Ugly("people.csv.zip", b"PK\x03\x04", error="is an archive by its name; unpack it, and name a file that was in it"),
    Ugly("broken.jsonl", lines('{"a": 1}', "{a: 2}", '{"a": 3}'), "", {}, 2, ("a",), bad=1),
]


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for case in CASES:
        (FOLDER / case.name).write_bytes(case.data)


if __name__ == "__main__":
    write()
