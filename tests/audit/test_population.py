import numpy as np
import pytest

from shoal.audit.risk import population, risk
from tests.audit.base import anonymized, both, people
from tests.audit.test_attacks import fitting


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("reading", ["extended", "maybe"])
def test_sizes_are_those_of_the_definition(tmp_path, reading, traced):
    _, evidence = anonymized(tmp_path, people(count=90, persons=60), traced=traced)
    found = population(evidence, both(evidence)[reading], patterns=reading == "extended")
    counted = []
    for row in np.flatnonzero(~evidence.suppressed):
        fits = [record for record in range(evidence.accepted) if fitting(evidence, record, row, reading == "extended")]
        counted.append(len(set(evidence.person[fits])) if traced else len(fits))
    assert sorted(found.sizes.tolist()) == sorted(counted)
    assert (found.smallest, found.exact) == (min(counted), True)


def test_the_population_hides_a_journalists_target_no_worse(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=1500, persons=700))
    for reading, classes in both(evidence).items():
        found = risk(classes.size, 0.2, population(evidence, classes, reading == "extended"))
        assert found.journalist.highest <= found.prosecutor.highest
        assert found.marketer == found.journalist.average <= found.prosecutor.average


def test_a_suppressed_stream_has_no_risk(tmp_path):
    _, evidence = anonymized(tmp_path, people(count=3))
    classes = both(evidence)["extended"]
    found = risk(classes.size, 0.2, population(evidence, classes, patterns=True))
    assert (found.records, found.prosecutor.highest, found.journalist) == (0, 0, None)
