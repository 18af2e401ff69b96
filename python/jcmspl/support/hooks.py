"""Names of modules of later layers that earlier ones load; ``jcmspl/__init__`` fills them in."""

#: Its function ``html`` draws a :class:`jcmspl.support.cards.Card`; loaded when the first card is shown.
notebook = ""
