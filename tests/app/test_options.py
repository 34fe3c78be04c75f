"""Prices travel as text."""

from tests.app.conftest import Call, spent

COUNT = "SELECT COUNT(*) AS n FROM survey"


def test_ten_tenths_fit_in_one_and_an_eleventh_is_refused(call: Call) -> None:
    for _ in range(10):
        assert call("query", "policy.toml", COUNT, "--epsilon", "0.1", "--fresh").exit_code == 0
    assert spent(call)["left"] == {"epsilon": "0"}
    assert call("query", "policy.toml", COUNT, "--epsilon", "0.1", "--fresh").exit_code == 3


def test_a_quotient_is_exact(call: Call) -> None:
    for _ in range(3):
        assert call("query", "policy.toml", COUNT, "--epsilon", "1/3", "--fresh").exit_code == 0
    assert spent(call)["left"] == {"epsilon": "0"}
