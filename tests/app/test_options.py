"""Prices travel as text, and every option arrives under its own name."""

from collections.abc import Mapping
from typing import Any

import pytest
from typer.testing import CliRunner

from deniable.app.cli import app
from deniable.errors import InvalidParameterError
from deniable.query.database import Database
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


OPTIONS: Mapping[str, Any] = {
    "epsilon": "0.5", "delta": "1e-6", "rho": "0.25", "error": "5%", "rows": 1, "groups": 2, "total_rows": 3
}  # fmt: skip


@pytest.mark.parametrize("command", ["query", "explain", "shell"])
@pytest.mark.parametrize("several", [True, False])
def test_every_option_arrives_under_its_own_name(
    call: Call, monkeypatch: pytest.MonkeyPatch, command: str, several: bool
) -> None:
    """All at once and one by one, with different values; a shell has three of them, and takes the rest as it runs."""
    heard: list[Mapping[str, Any]] = []

    def hear(_: Database, text: str, **given: Any) -> None:
        heard.append({name: value for name, value in given.items() if name in OPTIONS and value is not None})
        raise InvalidParameterError("heard")

    monkeypatch.setattr(Database, "sql", hear)
    monkeypatch.setattr(Database, "explain", hear)
    for given in [OPTIONS] if several else [{name: value} for name, value in OPTIONS.items()]:
        if command == "shell":
            typed = {name: value for name, value in given.items() if name in ("epsilon", "delta", "rho")}
            words = [word for name, value in typed.items() for word in (f"--{name}", str(value))]
            CliRunner().invoke(app, ["shell", "policy.toml", *words], input=COUNT + ";\n")
            assert heard.pop() == typed
            price = "\\price " + " ".join(f"{name}={value}" for name, value in given.items())
            CliRunner().invoke(app, ["shell", "policy.toml"], input=f"{price}\n{COUNT};\n")
            assert heard.pop() == {name: str(value) for name, value in given.items()}
            continue
        words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        assert "heard" in call(command, "policy.toml", COUNT, *words).stderr
        assert heard.pop() == given
