from pathlib import Path

import pytest

from deniable.mechanisms import MECHANISMS
from deniable.mechanisms.table import main, table

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mechanisms.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == table(), (
        "run python -m deniable.mechanisms.table docs/reference/mechanisms.md"
    )


def test_every_mechanism_has_a_row() -> None:
    for mechanism in MECHANISMS.values():
        assert f"| `{mechanism.__name__}` |" in table()


def test_the_page_is_written_or_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path / "page.md")])
    main([])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == capsys.readouterr().out == table()


def test_help_is_printed_and_no_file_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    assert "usage: python -m deniable.mechanisms.table" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
