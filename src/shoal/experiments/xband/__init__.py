"""X-BAND: figures 2 to 7."""

from shoal.experiments.paper import Findings, Paper
from shoal.experiments.streams import CITIES
from shoal.experiments.xband.claims import claims
from shoal.experiments.xband.figures import figures
from shoal.experiments.xband.jobs import jobs

PAPER = Paper(
    name="xband",
    title="X-BAND",
    reference=(
        "A. Otgonbayar, Z. Pervez, K. Dahal, *X-BAND: Expiration band for anonymizing varied data streams*, IEEE Internet "
        "of Things Journal 7 (2020)"
    ),
    setting=(
        "UCI Adult, 30,000 complete rows of which at most 1 to 10 values are taken; UCI PM2.5, each city as it is, with "
        "its own missing values. k 50, δ 1000, ω 1000, Γ 4 to 10 on Adult and 2 to 6 on PM2.5, α 1 to 0.25, β = 1 - α."
    ),
    notes=(
        "δ and ω are taken as numbers of tuples. X-BAND's pocket comes on top: its tuples may wait δ + ω, those of FADS δ.",
        "FADS with a weighted distance is no algorithm of shoal; it is a plain numpy version, equal to shoal's at α = 1.",
        "Purity is the share of a cluster's cells that hold a value, of all 14 quasi-identifiers: what figure 5 must "
        "mean, as the paper has no definition.",
        'Claims on "about" so many percent of time are taken as within two percentage points.',
    ),
    sources=("Adult", *CITIES),
    jobs=jobs,
    findings=lambda scale, results: Findings(figures(scale, results), claims(scale, results)),
)
