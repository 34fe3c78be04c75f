"""A cell of SQL asks the database that its first line names."""

from collections.abc import Callable
from typing import Any

import pytest

import deniable as dn
from deniable.errors import InvalidParameterError

COUNT = "SELECT COUNT(*) AS n FROM survey"


class Notebook:
    """As much of IPython as the magic uses; where there is IPython, the same test runs on it."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}

    def register_magic_function(self, function: Callable[..., object], kind: str, name: str) -> None:
        assert (kind, name) == ("cell", "dpsql")
        self.run_cell_magic = lambda _, line, cell: function(line, cell)


def notebooks() -> list[Any]:
    try:
        from IPython.core.interactiveshell import InteractiveShell
    except ImportError:
        return [Notebook()]
    return [Notebook(), InteractiveShell()]


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda one: type(one).__name__)
def test_a_cell_pays_once_and_keeps_its_answer(notebook: Any) -> None:
    dn.load_ipython_extension(notebook)
    db = dn.connect(dn.datasets.survey(), name="survey", unit="respondent", budget=dn.Budget(epsilon=1))
    notebook.user_ns["db"] = db
    assert "cost" in str(notebook.run_cell_magic("dpsql", "db epsilon=0.5 explain", COUNT))
    answer = notebook.run_cell_magic("dpsql", "db epsilon=0.5 as kept", COUNT)
    assert notebook.user_ns["kept"] is answer
    assert notebook.run_cell_magic("dpsql", "db epsilon=0.5", COUNT)["n"] == answer["n"]
    assert "95% within ±30" in str(notebook.run_cell_magic("dpsql", "db error=30 explain", COUNT))
    assert str(db.budget) == "budget epsilon=1; left epsilon=0.5"
    for line in ("", "nobody epsilon=1", "epsilon=1"):
        with pytest.raises(InvalidParameterError, match="the name of a database"):
            notebook.run_cell_magic("dpsql", line, COUNT)
    with pytest.raises(InvalidParameterError, match="a price is written"):
        notebook.run_cell_magic("dpsql", "db 0.5", COUNT)
