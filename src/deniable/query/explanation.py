"""Explanations: what a query would do and cost, before private rows are read."""

from collections.abc import Iterator
from dataclasses import dataclass

from deniable import layout
from deniable.privacy.budget.rule import Remaining
from deniable.query.expression import columns_of, text_cut
from deniable.query.plan import PricedPlan
from deniable.release.display import price, printable
from deniable.release.listing import pairs_as_html


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation:
    """A priced plan in words.

    Args:
        stored: whether the answer is known already, and free.
        further: what follows the first answer.
        refused: why the ledger would refuse to pay now; nothing if it would pay.
    """

    plan: PricedPlan
    left: Remaining
    stored: bool
    further: str = ""
    refused: str = ""

    def rows(self) -> Iterator[tuple[str, str]]:
        """(subject, statement) pairs, in reading order."""
        question, plan = self.plan.query.question, self.plan
        table = question.table
        yield "protects", table.protects
        bounding = table.bounding(grouped=bool(question.keys))
        if bounding is not None:
            yield "bounding", bounding
        if plan.key_search is not None:
            yield "groups", plan.key_search.spoken()
        else:
            yield "groups", f"{question.cells:,}, all public" if question.keys else "none: one number each"
        for search in plan.searches:
            yield search.subject, str(search)
        shares = self._shares()
        for number, part in enumerate(plan.parts):
            readers = self._readers(number)
            shared = f"; charged once for {', '.join(readers)}" if len(readers) > 1 else ""
            share = f"; {shares[number]:.0%} of the cost" if len(shares) > 1 else ""
            yield str(part.aggregate), part.spoken() + shared + share
        if self.further:
            yield "within", self.further
        yield "cost", "nothing: the answer is stored" if self.stored else price(plan.total, every=True)
        yield "left", f"{self.left}, before this question"
        if self.refused:
            yield "refused", self.refused

    def _shares(self) -> list[float]:
        """The part of the cost of each aggregate."""
        charges = [part.loss.charge() for part in self.plan.parts]
        named = [charge.epsilon for charge in charges]
        amounts = [float(each or 0) for each in (named if None not in named else [charge.rho for charge in charges])]
        whole = sum(amounts)
        return [each / whole for each in amounts] if whole else []

    def _readers(self, number: int) -> list[str]:
        """The columns of the answer that are computed from a part."""
        outputs = self.plan.query.outcome.outputs
        return [output.name for output in outputs if f"base {number}" in columns_of(output.expression)]

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        search = self.plan.key_search
        return {
            "text": self.plan.query.text,
            "groups": self.plan.query.question.cells if search is None else search.explained(),
            "stored": self.stored,
            "cost": self.plan.total.charge().to_data(),
            "left": str(self.left),
            "refused": self.refused,
            "noise": [
                {**part.explained(), "columns": self._readers(number)} for number, part in enumerate(self.plan.parts)
            ],
        }

    def __str__(self) -> str:
        return "\n".join(layout.aligned([tuple(map(printable, pair)) for pair in self.rows()]))

    def __repr__(self) -> str:
        cost = "stored, free" if self.stored else f"cost {price(self.plan.total, every=True)}"
        return f"<Explanation: {text_cut(self.plan.query.text)}; {cost}>"

    def _repr_html_(self) -> str:
        return pairs_as_html(self.rows())
