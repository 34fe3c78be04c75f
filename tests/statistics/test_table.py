from pathlib import Path

import pytest

from deniable import statistics
from deniable.statistics import Statistic
from deniable.statistics.table import FAMILIES, main, section, table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "statistics.md"
MEMBERS = [statistic for members in FAMILIES.values() for statistic in members]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == table(), (
        "run python -m deniable.statistics.table docs/reference/statistics.md"
    )


def test_every_public_statistic_has_one_row() -> None:
    public = [getattr(statistics, name) for name in statistics.__all__]
    kinds = {one for one in public if isinstance(one, type) and issubclass(one, Statistic) and one is not Statistic}
    assert len(MEMBERS) == len(set(MEMBERS))
    assert set(MEMBERS) == kinds


@pytest.mark.parametrize("statistic", MEMBERS, ids=lambda kind: str(kind.__name__))
def test_every_statistic_states_its_guarantee_and_where_it_is_proved(statistic: type[Statistic]) -> None:
    assert section(statistic, "Guarantee")
    page = section(statistic, "Proof").split()[0].rstrip(".,;").removesuffix(".md")
    assert (ROOT / f"{page}.md").is_file()


def test_a_section_ends_at_the_next_one_and_is_inherited() -> None:
    class Kind(statistics.Count):
        """First line.

        Guarantee: one
            two.
        Proof: here.
        """

    class Child(Kind):
        """First line.

        Proof: there.
        """

    assert section(Kind, "Guarantee") == section(Child, "Guarantee") == "one two."
    assert section(Child, "Proof") == "there."
    assert section(Kind, "Nonsense") == ""


def test_the_page_is_written_or_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path / "page.md")])
    main([])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == capsys.readouterr().out == table()
