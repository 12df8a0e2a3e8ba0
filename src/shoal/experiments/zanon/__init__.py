"""z-anonymity: figures 2 to 8 and C.10, the model and the filter side by side."""

from shoal.experiments.paper import Findings, Paper
from shoal.experiments.probability import ITEMS, USERS, WINDOW, Z
from shoal.experiments.zanon.claims import claims
from shoal.experiments.zanon.figures import figures
from shoal.experiments.zanon.jobs import jobs

PAPER = Paper(
    name="zanon",
    title="z-anonymity",
    reference=(
        "N. Jha, L. Vassio, M. Trevisan, E. Leonardi, M. Mellia, *Practical anonymization for data streams: z-anonymity "
        "and relation with k-anonymity*, Performance Evaluation 159 (2023)"
    ),
    setting=(
        f"U {USERS:,}, A {ITEMS}, λ of rank r 0.2/r, z {Z}, k 2, Δt {WINDOW:g}, unless varied; no data set. The model is "
        "`shoal.model`, the simulation runs the filter of shoal over Poisson users and drops the first Δt."
    ),
    notes=(
        "Section 6.2's rates η·λ and (1-η)·λ halve the mean rate; both these and rates of equal mean are shown.",
        "Equation 6 names no base of the logarithm; entropies are in nats.",
        "Which z figures 2, 5 and 6 show is not in the text but for 1 and 100.",
    ),
    sources=(),
    jobs=jobs,
    findings=lambda scale, results: Findings(figures(scale, results), claims(scale, results)),
)
