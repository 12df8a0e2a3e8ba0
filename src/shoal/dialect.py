"""How a file of text is written: its separator, quote, encoding, and the names of its columns."""

from __future__ import annotations

from typing import NamedTuple

ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1")
COMMA, TAB = ",", "\t"
QUOTE = '"'


class Dialect(NamedTuple):
    """How a text file, or a sheet, is to be read. The defaults are those of a policy that says nothing."""

    separator: str = ""  # one character; empty: by the file's name, a tab for .tsv and else a comma
    quote: str = QUOTE  # one character; empty: nothing is quoted
    encoding: str = "utf-8"
    header: tuple[str, ...] = ()  # the names of the columns, if no line of the file holds them
    sheet: str = ""  # of a workbook; empty: the first

    def named(self, path: str) -> Dialect:
        """With the separator that the name of a file implies, if none is given.

        >>> Dialect().named("people.tsv.gz").separator, Dialect(separator=";").named("people.csv").separator
        ('\\t', ';')
        """
        return self if self.separator else self._replace(separator=TAB if ".tsv" in path.lower()[-8:] else COMMA)


USUAL = Dialect()
