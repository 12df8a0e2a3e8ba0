"""The independent judge: what was published, held against the promises."""
