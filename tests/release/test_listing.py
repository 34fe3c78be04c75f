"""Small tables of text."""

from deniable.release.listing import LazyRows, Listing, pairs_as_html


def test_it_is_aligned_text_html_and_data() -> None:
    listing = Listing(("column", "type"), (("a<b", "integer"), ("weight", "real")))
    assert str(listing) == repr(listing) == "column  type\n------  -------\na<b     integer\nweight  real"
    assert "a&lt;b" in listing._repr_html_()
    assert list(listing) == [{"column": "a<b", "type": "integer"}, {"column": "weight", "type": "real"}]
    assert len(listing) == 2


def test_without_rows_it_says_so() -> None:
    listing = Listing(("a",), (), empty="nothing <yet>")
    assert str(listing) == "nothing <yet>"
    assert "&lt;yet&gt;" in listing._repr_html_()
    assert "<td>&lt;</td>" in pairs_as_html(iter([("x", "<")]))


def test_nothing_in_it_steers_a_screen() -> None:
    hostile = "a\n\x1b[31m\u202eb<i>"
    listing = Listing(("name", hostile), ((hostile, "1"),))
    for shown in (str(listing), listing._repr_html_(), pairs_as_html(iter([(hostile, hostile)]))):
        assert all(letter.isprintable() or letter == "\n" for letter in shown)
        assert r"\x1b[31m\u202eb" in shown
    assert len(str(listing).splitlines()) == 3
    assert "<i>" not in listing._repr_html_()


def test_it_is_a_sequence_whose_lazy_rows_are_made_when_they_are_read() -> None:
    made: list[int] = []

    def row(item: int) -> tuple[str, ...]:
        made.append(item)
        return (str(item),)

    lazy = Listing(("n",), LazyRows(range(10**9), row))
    assert lazy[0] == {"n": "0"}
    assert lazy[-1] == lazy[-2:][1] == {"n": "999999999"}
    assert str(lazy[3:5]) == "n\n-\n3\n4"
    assert lazy[:2] == Listing(("n",), (("0",), ("1",)))
    assert lazy[:2] != lazy[1:3]
    assert len(made) < 20
