"""What every audit prints: the group's help, and the short form of its first command."""

from tests.app.conftest import Call


def test_a_function_needs_no_subcommand_and_options_may_come_first(call: Call) -> None:
    long, *short = (
        call("audit", *words).stderr
        for words in (
            ("function", "math:tau"), ("math:tau",), ("--epsilon", "1", "math:tau"), ("math:tau", "--epsilon", "1")
        )
    )  # fmt: skip
    assert long == "deniable: math:tau cannot be called.\n"
    assert short == [long] * 3


def test_help_lists_the_kinds_of_audits(call: Call) -> None:
    told = call("audit", "--help").stdout
    assert all(name in told for name in ("function", "exact", "canaries", "is short for"))
    assert "--epsilon" in call("audit", "function", "--help").stdout
