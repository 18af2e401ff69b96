"""Moved to :mod:`jcmspl.core.scoring`."""

from jcmspl.core.scoring import METRICS as METRICS
from jcmspl.core.scoring import SPACES as SPACES
from jcmspl.core.scoring import AffineScorer as AffineScorer
from jcmspl.core.scoring import fold as fold
from jcmspl.core.scoring import nearest as nearest
