"""What was paid for tables stands beside them, also where the answer was stored and free."""

import numpy as np

from deniable.mechanisms import Laplace
from deniable.privacy import PureLoss, compose
from deniable.release import Provenance
from deniable.release.columns import Key, Noisy
from deniable.release.columns import Measure as Column
from deniable.synthesis.paid import Paid


def test_stored_answers_say_what_they_cost_when_they_were_measured() -> None:
    loss = PureLoss(1)
    assert Paid(cost=loss).paid == loss
    stored = Paid(cost=compose([]), provenance=Provenance(paid=loss), protects="one <b>person</b>", notes=("A note.",))
    assert stored.paid == loss
    assert stored._with_payment("plan") == "plan\nprotects one <b>person</b>\nA note."
    noisy = Noisy(name="noisy", values=np.array([3]), law=Laplace(scale=1).law())
    release = stored._release([Key(name="k", values=("a",)), Column(name="n", bases=("noisy",))], "a text", [noisy])
    assert (release.paid, release.protects, release.notes, release.text) == (
        loss,
        stored.protects,
        ("A note.",),
        "a text",
    )
    assert "<b>" not in Paid(cost=loss, notes=("<b>",))._repr_html_()
