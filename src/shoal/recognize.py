"""What a field is, by its name, by the form of its values, and by how they change for a person."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_BIRTH = ("birth", "geburt", "geboorte", "naissance", "nacimiento", "nascita", "nascimento")
_BORN = frozenset({"born", "bday", "bdate", "geboren", "geb", "gebdat"})
PREFIXES = ("dob", "race", "educ", "ethnic", "hisp", "marit", "occup", "national", *_BIRTH)
_OWN_ENDINGS = ("persid", "personid")
_ENDING = re.compile(r"[a-z]{1,8}id")
_PLACED = (
    {"hours", "week"}, {"working", "hours"}, {"work", "hours"},
    {"etat", "civil"}, {"estado", "civil"}, {"stato", "civile"}, {"burgerlijke", "staat"},
)  # fmt: skip
LONGEST = 60
MOST_WORDS = 6
_FORMS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[^@\s.]+",
    "web addresses": r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+",
    "IP addresses": r"\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,7}",
    "hardware addresses": r"[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}",
    "dates": r"\d{4}-\d\d?-\d\d?(?:[T ].*)?|\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d\d)(?:[T ].*)?|\d{4}/\d\d?/\d\d?.*",
    "coordinates": r"\(?[+-]?\d{1,3}\.\d+°?\s*[NSEWnsew]?\s*[,; ]\s*[+-]?\d{1,3}\.\d+°?\s*[NSEWnsew]?\)?",
    "long codes": r"(?=.*\d)[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "phone numbers": r"(?!\d{4}-\d{4}$)(?=(?:\D*\d){7})\+?\(?\d[\d ()/.-]{6,}",
}
_COMPILED = {kind: re.compile(pattern, re.IGNORECASE | re.ASCII) for kind, pattern in _FORMS.items()}
_WORDS = frozenset(
    [
        "none",
        "unknown",
        "missing",
        "unspecified",
        "undefined",
        "blank",
        "empty",
        "nil",
        "not available",
        "not known",
        "not specified",
        "(none)",
        "(missing)",
        "(unknown)",
        "keine angabe",
        "keine angaben",
        "unbekannt",
        "nicht bekannt",
        "inconnu",
        "non renseigné",
        "desconocido",
        "sconosciuto",
        "onbekend",
        "desconhecido",
    ]
)


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


# English first, then German, French, Spanish, Italian, Dutch and Portuguese, without accents

PERSONS = _listed(
    "person persons people pers patient customer client user member subscriber employee student participant respondent "
    "subject citizen driver passenger guest resident voter visitor worker insured borrower "
    "kunde kunden patienten versicherte versicherten mitarbeiter mitglied benutzer nutzer schuler teilnehmer "
    "usager utilisateur assure salarie adherent eleve etudiant cliente paciente usuario empleado alumno "
    "paziente utente dipendente klant medewerker deelnemer gebruiker utilizador funcionario"
)
IDENTIFIERS = _listed(
    "id ids pid uid uuid guid userid personid patientid customerid clientid memberid deviceid subjectid hash token"
)
NUMBERED = IDENTIFIERS | _listed("nr no num number code key nummer numero nro kennung codigo codice")
OWN = _listed("pid uid userid personid patientid customerid clientid memberid subjectid")
WEAK = _listed("id device deviceid account username imei msisdn imsi")
THINGS = _listed(
    "order invoice transaction event session row record line item product stock store shop site station trip visit "
    "encounter message request batch file page building room"
)
DIRECT = {
    "names": _listed(
        "name names firstname lastname surname forename fullname nickname username login "
        "vorname nachname familienname nom prenom nombre apellido apellidos nome cognome naam voornaam achternaam sobrenome"
    ),
    "contact data": _listed(
        "email mail phone telephone tel mobile fax msisdn contact twitter facebook instagram "
        "telefon handy courriel telefono correo telefoon telefone"
    ),
    "addresses": _listed(
        "address addr street road house housenumber adresse anschrift strasse hausnummer rue direccion calle "
        "indirizzo adres straat huisnummer endereco rua"
    ),
    "postcodes": _listed("zip zipcode postcode postal plz cp postleitzahl"),
    "coordinates": _listed("lat latitude lon long lng longitude gps geo coord coords coordinate coordinates location"),
    "network addresses": _listed("ip ipv4 ipv6 mac imei imsi hostname cookie useragent url uri"),
    "official numbers": _listed(
        "ssn bsn nhs passport licence license plate vin iban bic card creditcard tax insurance "
        "steuernummer ausweis kennzeichen dni nif cpf"
    ),
    "free text": _listed(
        "note notes comment comments text description remark remarks message feedback "
        "bemerkung bemerkungen kommentar notiz freitext commentaire remarque comentario commento opmerking"
    ),
}
SENSITIVE = _listed(
    "disease illness diagnosis diagnoses symptom treatment therapy medication drug hiv cancer blood disability "
    "religion faith politics party vote orientation salary income wage earnings credit debt balance poverty crime "
    "conviction icd icd9 icd10 condition pregnancy genetic "
    "diagnose diagnosen krankheit erkrankung behandlung medikament gehalt lohn einkommen konfession partei schulden "
    "maladie diagnostic traitement salaire revenu enfermedad diagnostico tratamiento salario ingresos "
    "malattia diagnosi stipendio reddito ziekte salaris inkomen doenca"
)
QUASI = _listed(
    "age ages birth birthyear yob dob sex gender race ethnicity ethnic nationality citizenship country nation region "
    "province county district city town village municipality borough neighborhood neighbourhood education schooling "
    "degree qualification marital married marry marriage occupation profession job employment workclass industry "
    "relationship household children dependents height language "
    "alter geschlecht familienstand beruf land bundesland kreis gemeinde stadt ort wohnort bildung schulabschluss kinder "
    "sprache staatsangehorigkeit sexe pays commune departement ville metier enfants edad sexo pais provincia municipio "
    "ciudad localidad profesion hijos sesso paese regione comune citta professione leeftijd geslacht gemeente woonplaats "
    "beroep opleiding idade cidade profissao"
)
CODED = _listed(
    "sex gender race ethnicity ethnic nationality citizenship country nation region province county district city town "
    "village municipality borough marital married marry marriage occupation profession job employment workclass "
    "industry relationship language hisp "
    "geschlecht familienstand beruf land bundesland kreis gemeinde stadt ort sexe pays commune departement ville sexo pais "
    "provincia municipio ciudad sesso paese regione comune citta geslacht gemeente cidade"
)
PHONES = _listed("phone telephone tel mobile fax msisdn telefon handy telefono telefoon telefone")
QUANTITIES = _listed("num number count years year size")
TIMES = _listed(
    "ts time timestamp datetime date when moment epoch unixtime eventtime at "
    "datum zeit zeitpunkt zeitstempel uhrzeit heure horodatage fecha hora tijd tijdstip"
)
_ENDING_SO = _listed("paid unpaid valid invalid covid humid solid fluid liquid acid grid mid bid kid aid")


def words(name: str) -> frozenset[str]:
    """The words of a name, without accents.

    >>> sorted(words("native-country")), sorted(words("CustomerID")), sorted(words("birthYear2")), sorted(words("Straße"))
    (['country', 'native'], ['customer', 'id'], ['2', 'birth', 'year'], ['strasse'])
    """
    letters = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return frozenset(part.lower() for part in _PARTS.findall(plain))


def direct(name: str) -> str | None:
    """The kind of direct identifier that the name stands for, if any.

    In a path the last part decides, if it is one of those known: the city of an address is no address.

    >>> direct("e-mail"), direct("firstName"), direct("country_name"), direct("age")
    ('contact data', 'names', None, None)
    >>> direct("address.city"), direct("home.address.zip"), direct("address.line1"), direct("country.name")
    (None, 'postcodes', 'addresses', None)
    """
    inner = name.rpartition(".")[2]
    if inner != name and (is_quasi(inner) or direct(inner) not in (None, "names")):
        return direct(inner)
    found = words(name)
    for kind, known in DIRECT.items():
        if found & known and not (kind == "names" and is_quasi(name)):
            return kind
    return None


def is_quasi(name: str) -> bool:
    """Whether the name is one of a usual quasi-identifier.

    >>> [is_quasi(name) for name in ("age", "RACEX", "hours-per-week", "capital-gain", "page")]
    [True, True, True, False, False]
    """
    found = words(name)
    return bool(found & (QUASI | _BORN)) or any(map(_prefixed, found)) or any(phrase <= found for phrase in _PLACED)


def is_coded(name: str) -> bool:
    """Whether whole numbers under this name are codes of categories, not quantities.

    >>> [is_coded(name) for name in ("SEX", "RACEX", "education-num", "age")]
    [True, True, False, False]
    """
    found = words(name)
    coded = found & CODED or any(word.startswith(("race", "hisp", "ethnic", "marit", "occup")) for word in found)
    return bool(coded) and not found & QUANTITIES


def is_birth(name: str) -> bool:
    """Whether the name is that of a date or a year of birth.

    >>> [is_birth(name) for name in ("date_of_birth", "born", "Geburtsdatum", "visited")]
    [True, True, True, False]
    """
    found = words(name)
    return bool(found & _BORN) or any(word.startswith(("dob", "yob", *_BIRTH)) for word in found)


def is_sensitive(name: str) -> bool:
    """Whether the name is that of something sensitive."""
    return bool(words(name) & SENSITIVE)


def is_time(name: str) -> bool:
    """Whether the name is that of a time, other than a birth.

    >>> [is_time(name) for name in ("ts", "InvoiceDate", "birth_date", "created_at", "timezone")]
    [True, True, False, True, False]
    """
    return bool(words(name) & TIMES) and not is_birth(name)


def is_identifier(name: str) -> bool:
    """Whether the name is that of an identifier of persons or of things.

    >>> [is_identifier(name) for name in ("order_id", "DUID", "paid", "humidity")]
    [True, True, False, False]
    """
    found = words(name)
    return bool(found & (IDENTIFIERS | WEAK | OWN)) or any(map(_ENDING.fullmatch, found - _ENDING_SO))


def person_rank(name: str) -> int:
    """How clearly the field identifies persons: 2 clearly, 1 perhaps, 0 not.

    >>> [person_rank(name) for name in ("pid", "CustomerID", "id", "device_id", "order_id", "user_age", "DUPERSID")]
    [2, 2, 1, 1, 0, 0, 2]
    """
    found = words(name)
    if found & THINGS or direct(name) not in (None, "names", "network addresses") or is_quasi(name):
        return 0
    if (
        found & OWN
        or any(map(_numbers_persons, found))
        or any(word.endswith(_OWN_ENDINGS) for word in found)
        or (found & PERSONS and (found & NUMBERED or found <= PERSONS))
    ):
        return 2
    return 1 if found & WEAK and found <= WEAK | NUMBERED else 0


def _numbers_persons(word: str) -> bool:
    """Whether the word is composed of a person and a number.

    >>> [_numbers_persons(word) for word in ("kundennummer", "klantnr", "userno", "hausnummer", "person")]
    [True, True, True, False, False]
    """
    return any(word.endswith(end) and word[: -len(end)] in PERSONS for end in NUMBERED)


def _prefixed(word: str) -> bool:
    return word.startswith(PREFIXES)


def form(values: Iterable[str]) -> str | None:
    """The form of some of the values, if it is one that is never published.

    >>> form(["x", "ann@example.org"]), form(["Paris", "Oslo"]), form(["2024-05-01T10:00Z"])
    ('e-mail addresses', None, 'dates')
    """
    values = list(values)
    for kind, pattern in _COMPILED.items():
        if any(map(pattern.fullmatch, values)):
            return kind
    return "free text" if _has_prose(values) else None


def is_word(text: str) -> bool:
    """Whether a text that may stand for a missing value is a word, which may as well be a value.

    >>> [is_word(text) for text in ("none", "Unknown", "NA", "?", "-")]
    [True, True, False, False, False]
    """
    return text.lower() in _WORDS


def _has_prose(values: list[str]) -> bool:
    longest, most = max(map(len, values), default=0), max(map(len, map(str.split, values)), default=0)
    return longest > LONGEST or most > MOST_WORDS or "\n" in "".join(values)


_RETURNING = 20  # persons who come back; fewer say little
_SAME = 0.9  # of them, with one value
_USUAL = 0.8  # of all pairs of rows, with the same value: then one value is no sign of anything


def stable_persons(code: NDArray[np.int64], person: NDArray[np.int64]) -> tuple[float, int] | None:
    """The share of the persons who come back that have one value, and how many come back; None if that is no stable field.

    Codes below 0 are missing.

    >>> stable_persons(np.repeat(np.arange(30), 2) % 4, np.repeat(np.arange(30), 2))
    (1.0, 30)
    >>> stable_persons(np.arange(60) % 7, np.repeat(np.arange(30), 2))
    """
    there = code >= 0
    code, person = code[there], person[there]
    if not len(code):
        return None
    shares = np.unique(code, return_counts=True)[1] / len(code)
    width = int(code.max()) + 1
    owner, different = np.unique(np.unique(person * width + code) // width, return_counts=True)
    known, rows = np.unique(person, return_counts=True)
    back = rows[np.searchsorted(known, owner)] >= 2
    returning = int(back.sum())
    if returning < _RETURNING or float((shares**2).sum()) > _USUAL:
        return None
    share = float((different[back] == 1).mean())
    return (share, returning) if share >= _SAME else None
