"""The formats of files, by the suffix of their names."""

from __future__ import annotations

from shoal.errors import InputError

PACKED = (".gz", ".zst", ".bz2", ".xz")
_TEXTS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "csv"}
_TABLES = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".orc": "orc", ".avro": "avro"}
_BOOKS = dict.fromkeys((".xlsx", ".xls", ".xlsb", ".ods"), "excel")
_KINDS = {**{f"{suffix}{packed}": kind for suffix, kind in _TEXTS.items() for packed in ("", *PACKED)}, **_TABLES, **_BOOKS}
SUFFIXES = tuple(_KINDS)
_KNOWN = (
    f"{', '.join(_TEXTS)} (each also {', '.join(PACKED[:-1])} or {PACKED[-1]}), {', '.join([*_TABLES, *_BOOKS])}, "
    "or be - for standard input or output"
)
_ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst")
_WRITABLE = (".jsonl", ".ndjson", ".csv", ".parquet", ".arrow", ".feather", ".avro")


WRITABLE = tuple(each for each in SUFFIXES if each.startswith(_WRITABLE))


def is_standard(path: str) -> bool:
    """Whether this is standard input or output: `-` with JSON lines, or with a suffix that says what else, such as `-.csv`.

    >>> is_standard("-"), is_standard("-.csv"), is_standard("./-.csv")
    (True, True, False)
    """
    return path == "-" or path.startswith("-.")


def standard(path: str, form: str | None, option: str) -> str:
    """The path of an input or output, with the format that an option gives for `-`.

    >>> standard("-", "csv", "--from"), standard("people.csv", None, "--to")
    ('-.csv', 'people.csv')
    """
    forms = ("csv", "tsv", "jsonl") if option == "--from" else ("csv", "jsonl")
    if form is None:
        return path
    if path != "-":
        raise InputError(f"{option}: is for - alone; the name of a file says its format")
    if form not in forms:
        raise InputError(f"{option}: is no format of a pipe; use {', '.join(forms[:-1])} or {forms[-1]}")
    return f"-.{form}"


def kind(path: str) -> str:
    """The format of a file, by its name: jsonl, csv, parquet, arrow, orc, avro or excel.

    >>> kind("people.csv.gz"), kind("people.feather"), kind("-")
    ('csv', 'arrow', 'jsonl')
    """
    if path == "-":
        return "jsonl"
    found = _KINDS.get(suffix(path))
    if found:
        return found
    if suffix(path.lower().removesuffix(packing(path))) in {**_TABLES, **_BOOKS}:
        raise InputError(f"{path}: Parquet and Arrow files compress themselves; name it without {packing(path)}")
    if path.lower().endswith(_ARCHIVES):
        raise InputError(f"{path}: is an archive by its name; unpack it, and name a file that was in it")
    raise InputError(f"{path}: unknown kind of file; its name must end in one of {_KNOWN}")


def suffix(path: str) -> str:
    """The suffix that says the format, with that of a compression; empty if it is not known.

    >>> suffix("People.CSV.gz"), suffix("people.doc")
    ('.csv.gz', '')
    """
    return max((each for each in SUFFIXES if path.lower().endswith(each)), key=len, default="")


def packing(path: str) -> str:
    """The suffix of a compression; empty if there is none.

    >>> packing("people.csv.zst"), packing("people.csv")
    ('.zst', '')
    """
    return next((each for each in PACKED if path.lower().endswith(each)), "")


def written_kind(path: str) -> str:
    """The format of a file that is to be written."""
    found = kind(path)
    ends = suffix(path).removesuffix(packing(path))
    if path != "-" and ends not in _WRITABLE:
        raise InputError(f"{path}: {ends} files are read, not written; name it {', '.join(_WRITABLE[:-1])} or {_WRITABLE[-1]}")
    return found


def writable(suffix: str) -> str:
    """The suffix of an output for an input with a suffix.

    >>> writable(".csv.gz"), writable(".xlsx"), writable(".tsv"), writable(".json")
    ('.csv.gz', '.csv', '.csv', '.jsonl')
    """
    ends = suffix.removesuffix(packing(suffix))
    if ends in _WRITABLE:
        return suffix
    if ends == ".json":
        return f".jsonl{packing(suffix)}"
    return f".csv{packing(suffix)}" if _KINDS.get(suffix) in ("csv", "excel") else ".parquet"
