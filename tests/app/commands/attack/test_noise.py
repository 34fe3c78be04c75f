"""The threshold of noise on the command line."""

import json

from tests.app.conftest import Call


def test_the_table_and_the_data_show_the_same_curve(call: Call) -> None:
    told = json.loads(call("attack", "noise", "--people", "256", "--json", "--plot", "out.svg").stdout)
    shares = [point["share"] for point in told["points"]]
    assert shares[0] > 0.98
    assert 0.4 < shares[-1] < 0.6
    lines = call("attack", "noise", "--people", "256").stdout.splitlines()
    assert lines[0].split("  ")[0].strip() == "noise / sqrt(people)"
    assert [line.split()[1] for line in lines[2:-1]] == [f"{share:.1%}" for share in shares]
    assert "gives this away" in lines[-1]


def test_other_laws_and_refusals(call: Call) -> None:
    assert "against laplace noise" in call("attack", "noise", "--people", "64", "--law", "laplace").stdout
    assert call("attack", "noise", "--plot", "out.txt").exit_code == 2
    assert call("attack", "noise", "--people", "1").exit_code == 2
