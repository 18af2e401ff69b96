"""How far a model is to be trusted on test samples: errors of its probabilities, and its prediction sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jcmspl.data.labels import Label
from jcmspl.data.parts import Part
from jcmspl.evaluation import findings
from jcmspl.evaluation.probabilities import ProbabilityTally, ReliabilityCurve
from jcmspl.model.known_classes import Call
from jcmspl.model.labelling import SetLimit, set_members, softmax
from jcmspl.model.prediction import spread_of, temperature_of
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import Float64Array

#: The coverage of the sets in reports.
COVERAGE = 0.9


class Trust(NamedTuple):
    """Findings for a group of candidates, and coverage and size of the sets of each class; empty without sets."""

    found: findings.Trust
    of_classes: dict[Label, tuple[float, float]]


def trust(model: Any, group: str, call: Call, chunks: Iterable[tuple[Any, Any]]) -> Trust:
    """Measure a model, in its own space, on samples of a group of candidates ("seen", "unseen" or "all")."""
    recogniser = model.recogniser(**call._replace(seen_penalty=model.bias_in(model.own_space))._asdict())
    key = (model.own_space, model.own_metric, group)
    calibration = model.state.set_calibration.get(key)
    promise = None if calibration is None else calibration.at(COVERAGE)
    limit = None if promise is None else SetLimit(calibration.temperature * spread_of(model), promise.threshold)
    temperature = temperature_of(model, None, call)
    tally, sums = ProbabilityTally(), dict[Label, Float64Array]()
    for X, y in chunks:
        samples, _ = model.reader.unweighted().samples(X, y, columns=model.state.columns)
        for tally_of_part, sums_of_part in samples.map(_looked_at, recogniser, temperature, limit, what="recognising"):
            tally.extend(tally_of_part)
            for label, numbers in sums_of_part.items():
                sums[label] = sums.get(label, np.zeros(3)) + numbers
    of_classes = {label: (float(covered / n), float(size / n)) for label, (n, covered, size) in sums.items()}
    sets = None
    if promise is not None:
        n, _, size = np.sum(list(sums.values()), axis=0)
        covered = float(np.mean([share for share, _ in of_classes.values()]))
        sets = findings.Sets(promise.asked, promise.promised, covered, float(size / n), str(promise))
    return Trust(
        findings.Trust(
            group=group,
            n_candidates=len(call.candidates),
            temperature=temperature,
            is_calibrated=model.temperature == "auto" and key in model.temperatures_,
            errors=tally.errors(),
            reliability=ReliabilityCurve.of(tally),
            sets=sets,
        ),
        of_classes,
    )


def _looked_at(
    part: Part, recogniser: Recogniser, temperature: float, limit: SetLimit | None
) -> tuple[ProbabilityTally, dict[Label, Float64Array]]:
    """Return the tally of a part and, for each class, its number of samples, of those covered, and the sum of sizes."""
    number = {label: i for i, label in enumerate(recogniser.labels.tolist())}
    tally, sums = ProbabilityTally(), dict[Label, Float64Array]()
    for block in part.blocks():
        labels, X = block.labels, block.X
        own = np.array([number[label] for label in labels], dtype=np.int64)
        tally.update(softmax(recogniser.scores_less_lead(X), temperature), own)
        if limit is not None:
            sets = set_members(recogniser, limit, X)
            covered, sizes = sets[np.arange(len(own)), own], sets.sum(axis=1)
            for label, is_covered, size in zip(labels, covered.tolist(), sizes.tolist(), strict=True):
                sums[label] = sums.get(label, np.zeros(3)) + np.array([1, is_covered, size])
    return tally, sums
