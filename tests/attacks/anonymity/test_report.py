"""The report holds what the measures say, in every form."""

import json

import pandas as pd
import pytest

import deniable as dn
from deniable import attacks
from deniable.errors import InvalidParameterError

TABLE = pd.DataFrame({"age": [30, 30, 40, 40, 50], "ill<b>": list("xyxxx"), "pay": [1, 2, 3, 4, 5]})


def test_the_report_holds_what_each_measure_says() -> None:
    survey, quasi = dn.datasets.survey(), ["department", "age"]
    found = attacks.measure_anonymity(survey, quasi=quasi, sensitive=["satisfaction", "leaving"])
    for name, one in found.sensitive.items():
        given = {"quasi": quasi, "sensitive": name}
        assert one.distinct_l == attacks.l_diversity(survey, **given)
        assert one.entropy_l == attacks.l_diversity(survey, **given, kind="entropy")
        assert one.recursive_c == attacks.recursive_diversity(survey, **given)
        assert one.t == attacks.t_closeness(survey, **given)
        assert one.delta == attacks.delta_disclosure(survey, **given)
    assert [one.ground for one in found.sensitive.values()] == ["ordered", "equal"]


def test_every_form_says_the_same() -> None:
    found = attacks.measure_anonymity(TABLE, quasi="age", sensitive="ill<b>")
    assert (found.k, found.unique, found.classes) == (1, 1, 3)
    assert found.sensitive["ill<b>"].homogeneous == 0.6
    assert "1 (20.0%) are alone" in str(found)
    assert "ill&lt;b&gt;" in found._repr_html_()
    data = json.loads(found.to_json())
    assert data["sensitive"]["ill<b>"]["delta"] == "infinity"
    assert data["k"] == 1


def test_a_report_needs_no_sensitive_attribute() -> None:
    found = attacks.measure_anonymity(TABLE, quasi=["age"])
    assert str(found) == found.sentence


def test_grounds_are_named() -> None:
    pay = attacks.measure_anonymity(TABLE, quasi="age", sensitive="pay", grounds={"pay": dict.fromkeys(range(1, 6), 0)})
    assert pay.sensitive["pay"].ground == "tree"
    with pytest.raises(InvalidParameterError, match="wages"):
        attacks.measure_anonymity(TABLE, quasi="age", sensitive="pay", grounds={"wages": "equal"})
