"""The hierarchies of the papers' data sets, written here as trees, so that nobody has to find their files.

Adult's follow the taxonomy trees of Fung, Wang and Yu (Top-down specialization for information and privacy preservation, ICDE
2005), by the labels of UCI Adult. The others are our own; of INFORMS and PM2.5 the papers give only the sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Tree = Mapping[str, Any] | Sequence[str]  # groups by their names, or leaves; a leaf beside groups is a name with None
ROOT = "Any"

ADULT: Mapping[str, Tree] = {
    "workclass": {
        "Worked": {
            "With-Pay": {
                "Private": None, "Self-emp": ["Self-emp-not-inc", "Self-emp-inc"],
                "Gov": ["Federal-gov", "Local-gov", "State-gov"],
            },
            "Without-pay": None,
        },
        "Never-worked": None,
    },
    "education": {
        "Without-Post-Secondary": {
            "Preschool": None,
            "Elementary": ["1st-4th", "5th-6th", "7th-8th"],
            "Secondary": {"Junior-Secondary": ["9th", "10th"], "Senior-Secondary": ["11th", "12th", "HS-grad"]},
        },
        "Post-secondary": {
            "Some-college": None,
            "Assoc": ["Assoc-acdm", "Assoc-voc"],
            "University": {"Bachelors": None, "Prof-school": None, "Post-grad": ["Masters", "Doctorate"]},
        },
    },
    "marital-status": {
        "Married": {
            "Partner-present": ["Married-civ-spouse", "Married-AF-spouse"],
            "Partner-absent": ["Divorced", "Separated", "Widowed", "Married-spouse-absent"],
        },
        "Never-married": None,
    },
    "occupation": {
        "White-collar": ["Exec-managerial", "Prof-specialty", "Sales", "Adm-clerical"],
        "Blue-collar": [
            "Tech-support", "Craft-repair", "Machine-op-inspct", "Handlers-cleaners", "Transport-moving", "Priv-house-serv",
        ],
        "Other": ["Protective-serv", "Armed-Forces", "Farming-fishing", "Other-service"],
    },
    "relationship": {
        "In-family": ["Wife", "Own-child", "Husband"], "Not-in-family": None, "Other-relative": None, "Unmarried": None,
    },
    "race": ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"],
    "sex": ["Female", "Male"],
    "native-country": {
        "North-America": {"USA": ["United-States", "Outlying-US(Guam-USVI-etc)"], "Canada": None},
        "Middle-America": ["Mexico", "Honduras", "Guatemala", "Nicaragua", "El-Salvador"],
        "South-America": {
            "Western-South-America": ["Ecuador", "Peru"],
            "Northern-South-America": ["Columbia"],
            "Caribbean": ["Puerto-Rico", "Dominican-Republic", "Jamaica", "Cuba", "Haiti", "Trinadad&Tobago"],
        },
        "Europe": {
            "Western-Europe": ["France", "England", "Ireland", "Scotland", "Holand-Netherlands"],
            "Southern-Europe": ["Italy", "Greece"],
            "Southwestern-Europe": ["Portugal"],
            "Southeastern-Europe": ["Yugoslavia"],
            "Central-Europe": ["Hungary", "Germany", "Poland"],
        },
        "Asia": {
            "Southeastern-Asia": ["Philippines", "Thailand", "Cambodia", "Vietnam", "Laos"],
            "Southern-Asia": ["India"],
            "Eastern-Asia": ["Japan", "China", "Hong", "Taiwan", "South"],
            "Middle-East": ["Iran"],
        },
    },
}  # fmt: skip

INFORMS: Mapping[str, Tree] = {
    "SEX": ["1", "2"],
    "RACEX": [str(code) for code in range(1, 7)],
    "EDUCYEAR": {
        "0": None, "1-8": [str(year) for year in range(1, 9)], "9-11": [str(year) for year in range(9, 12)],
        "High-school": ["12"], "College": [str(year) for year in range(13, 18)],
    },
    "marry": {"Ever-married": {"Spouse-present": ["1"], "Spouse-absent": ["2", "3", "4"]}, "Single": ["5", "6"]},
}  # fmt: skip

WEATHER: Mapping[str, Tree] = {
    "season": {"warm": ["1", "2"], "cold": ["3", "4"]},
    "cbwd": ["NE", "NW", "SE", "SW", "cv"],
}

NAFLD: Mapping[str, Tree] = {
    "male": ["0", "1"],
    "test": {"lipids": ["chol", "hdl"], "blood-pressure": ["dbp", "sbp"]},
}

STAR: Mapping[str, Tree] = {
    "sx": ["F", "M"],
    "eth": ["W", "B", "A", "H", "I", "O"],
    "schtype": {"city": ["inner", "urban"], "suburb": None, "rural": None},
    "cltype": {"small": None, "regular": ["reg", "reg+A"]},
    "hdeg": {"bachelor": ["ASSOC", "BS/BA"], "master": ["MS/MA/MEd", "MA+"], "beyond": ["Ed.S", "Ed.D/Ph.D"]},
}


def lines(tree: Tree, above: Sequence[str] = (ROOT,)) -> Iterator[str]:
    """One line per leaf: leaf first, root last.

    >>> list(lines({"warm": ["1", "2"], "cold": None}))
    ['1;warm;Any', '2;warm;Any', 'cold;Any']
    """
    if not isinstance(tree, Mapping):
        yield from (";".join((leaf, *above)) for leaf in tree)
        return
    for name, below in tree.items():
        if below is None:
            yield ";".join((name, *above))
        else:
            yield from lines(below, (name, *above))
