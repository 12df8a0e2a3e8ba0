"""Figures of pycanon as JSON, for a CSV on standard input; run by an interpreter that has pycanon.

Its columns are `quasi` (one class per value), `word` and `number` (sensitive).
"""

import json
import sys


def figures(stream):
    import pandas
    from pycanon import anonymity, metrics

    table = pandas.read_csv(stream, dtype={"quasi": str, "word": str})
    result = {
        "k": int(anonymity.k_anonymity(table, ["quasi"])),
        "highest": float(metrics.max_rir(table, ["quasi"])),
        "class_risk": float(metrics.average_rir(table, ["quasi"])),
        "discernibility": int(metrics.discernability_metric(table, table, ["quasi"])),
    }
    for name in ("word", "number"):
        result[name] = {
            "distinct": int(anonymity.l_diversity(table, ["quasi"], [name])),
            "entropy": int(anonymity.entropy_l_diversity(table, ["quasi"], [name])),
            "closeness": float(anonymity.t_closeness(table, ["quasi"], [name])),
        }
    return result


if __name__ == "__main__":
    json.dump(figures(sys.stdin), sys.stdout)
