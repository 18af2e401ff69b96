"""How anything is shown: tables as text, pages, charts. Knows nothing of models."""
