from __future__ import annotations

import pytest

from shoal.recognize import direct, is_quasi, is_sensitive, is_time, person_rank

NAMES = {
    "German": ("Kundennr", "Geschlecht", "Diagnose", "Nachname", "Datum"),
    "French": ("numéro_client", "état_civil", "salaire", "prénom", "Heure"),
    "Spanish": ("Número de cliente", "edad", "diagnóstico", "apellidos", "fecha"),
    "Italian": ("codice_paziente", "sesso", "reddito", "cognome", "timestamp"),
    "Dutch": ("Klantnummer", "woonplaats", "inkomen", "achternaam", "tijdstip"),
    "Portuguese": ("codigo_paciente", "idade", "doença", "sobrenome", "data_hora"),
}  # person, quasi-identifier, sensitive value, name, time


@pytest.mark.parametrize("language", NAMES)
def test_names_of_fields_in(language: str) -> None:
    person, quasi, sensitive, name, time = NAMES[language]
    assert [person_rank(each) for each in NAMES[language]] == [2, 0, 0, 0, 0]
    assert [is_quasi(each) for each in NAMES[language]] == [False, True, False, False, False]
    assert [is_sensitive(each) for each in NAMES[language]] == [False, False, True, False, False]
    assert [direct(each) for each in (person, quasi, sensitive, name, time)] == [None, None, None, "names", None]
    assert [is_time(each) for each in NAMES[language]] == [False, False, False, False, True]
