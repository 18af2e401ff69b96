"""How results show themselves in a notebook: as a card of facts and small tables, which jcmspl.report draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from jcmspl.support import hooks
from jcmspl.support.tables import Table

T = TypeVar("T")

#: Stands for rows and columns that are left out.
ELLIPSIS = "…"


@dataclass(frozen=True)
class Card:
    """The content of a card in a notebook, from top to bottom."""

    title: str = ""
    sentences: Iterable[str] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    tables: Iterable[Table] = ()
    notes: Iterable[str] = ()

    @classmethod
    def of_facts(cls, facts: Mapping[str, object]) -> str:
        """Draw a card of facts; an empty text if there are none."""
        return cls(facts=facts).html() if facts else ""

    def html(self) -> str:
        """Draw the card."""
        text: str = import_module(hooks.notebook).html(self)
        return text


class ShownAsCard:
    """Base class of results that a notebook shows as a card; ``repr`` and ``print`` stay as they are."""

    def _card(self) -> Card:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self._card().html()


def elided(items: Sequence[T], most: int, gap: T) -> list[T]:
    """Return items, or, if there are more than ``most``, the first and the last ones with a gap between."""
    if len(items) <= most:
        return list(items)
    first = (most + 1) // 2
    return [*items[:first], gap, *items[len(items) - (most - first) :]]


if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as _Estimator
else:
    _Estimator = object


class FactsInNotebooks(_Estimator):
    """Append a table of fitted facts to scikit-learn's HTML repr."""

    def _facts(self) -> dict[str, object]:
        """Return the facts of a fitted estimator; an empty dict before fit."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + Card.of_facts(self._facts())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += Card.of_facts(self._facts())
        return bundle
