"""Planted defects: each is put into a copy of the tree, and the tests must notice it.

python -m tools.mutants              all of them: the hinted tests first, then all that `make test` runs
python -m tools.mutants NAME …       these, or those of an area
python -m tools.mutants --hinted     the hinted tests alone
python -m tools.mutants --tests 'tests/door -k fads' NAME …    other tests instead of the hinted ones
"""
