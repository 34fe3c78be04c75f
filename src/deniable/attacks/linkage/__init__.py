"""Tables without names, joined with what else is known."""

__all__: list[str] = []
