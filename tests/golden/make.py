"""Writes the golden model file of the current format version, and what the model must answer.

Run once per format version, with the version of jcmspl that introduced it; files of older versions are never rewritten:

    python tests/golden/make.py
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from jcmspl import JCMSPL  # noqa: E402
from jcmspl.model.persistence import FORMAT_VERSION  # noqa: E402
from support.animals import make_zoo  # noqa: E402

zoo = make_zoo(n_seen=3, n_unseen=2, n_attributes=3, n_features=4, per_class=5)
model = JCMSPL(space="concept", seen_penalty=0.125, random_state=7).fit(zoo.X, zoo.y, class_vectors=zoo.table)
stem = f"model-v{FORMAT_VERSION}"
model.save(HERE / f"{stem}.safetensors", statistics=True)
X = np.round(zoo.X_new[:4], 3)
answers = {
    "X": X.tolist(),
    "decision_function": model.decision_function(X).tolist(),
    "predict": model.predict(X).tolist(),
    "classes": model.classes_.tolist(),
    "unseen_classes": model.unseen_classes_.tolist(),
    "n_samples": model.statistics_.n_samples,
}
(HERE / f"{stem}.json").write_text(json.dumps(answers, indent=1) + "\n")
