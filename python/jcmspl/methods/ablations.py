"""The ablations of the paper as settings of the full model."""

from __future__ import annotations

from typing import Any

from jcmspl.methods.jcmspl import JCMSPL


def IPL(**parameters: Any) -> JCMSPL:
    """Return the paper's IPL, a common concept space and nothing else: λ2 = λ3 = λ4 = 0.

    Parameters
    ----------
    **parameters
        Those of :class:`jcmspl.JCMSPL` but for the three that are zero.

    Examples
    --------
    >>> from jcmspl.methods import IPL
    >>> IPL(space="concept").class_match
    0.0
    """
    return _variant("IPL", parameters)


def JCMSPL0(**parameters: Any) -> JCMSPL:
    """Return the paper's JCMSPL0, without reconstruction: λ3 = λ4 = 0.

    Parameters
    ----------
    **parameters
        Those of :class:`jcmspl.JCMSPL` but for the two that are zero.

    Examples
    --------
    >>> from jcmspl.methods import JCMSPL0
    >>> JCMSPL0().visual_reconstruction, JCMSPL0().semantic_reconstruction
    (0.0, 0.0)
    """
    return _variant("JCMSPL0", parameters)


def JCMSPL1(**parameters: Any) -> JCMSPL:
    """Return the paper's JCMSPL1, without class codes: λ2 = 0.

    Parameters
    ----------
    **parameters
        Those of :class:`jcmspl.JCMSPL` but for the one that is zero.

    Examples
    --------
    >>> from jcmspl.methods import JCMSPL1
    >>> JCMSPL1(class_match=1)
    Traceback (most recent call last):
    TypeError: class_match is 0 in this preset
    """
    return _variant("JCMSPL1", parameters)


def _variant(variant: str, given: dict[str, Any]) -> JCMSPL:
    fixed = JCMSPL.VARIANTS[variant]
    for name in fixed:
        if name in given:
            raise TypeError(f"{name} is 0 in this preset")
    return JCMSPL(**fixed, **given)
