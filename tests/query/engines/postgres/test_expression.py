"""PostgreSQL answers every expression as DuckDB does, whatever stands in the rows, for a role with SELECT alone."""

from deniable.query.engines.postgres.expression import Postgres
from tests.postgres import as_reader
from tests.query.engines import contract


def test_expressions_have_the_values_of_duckdb(postgres: str) -> None:
    import psycopg

    types = {kind: name.lower() for kind, name in Postgres.types.items()}
    types[contract.Kind.TIMESTAMP] = "timestamp without time zone"
    with psycopg.connect(postgres) as connection:
        columns = ", ".join(f"{name} {types[kind]}" for name, kind in contract.KINDS.items())
        connection.execute(f"CREATE TABLE source (n int, {columns})".encode())
        with connection.cursor().copy("COPY source FROM STDIN") as copy:
            for row in contract.table().to_pylist():
                copy.write_row(list(row.values()))
    with psycopg.connect(as_reader(postgres)) as connection:
        ((asked, statement),) = contract.statements(Postgres(), types)
        rows = connection.execute(statement.encode()).fetchall()
        assert connection.execute(contract.orders(Postgres()).encode()).fetchall() == contract.expected_orders()
    contract.check(
        dict(zip(asked, zip(*rows, strict=True), strict=True)), refused={"ln", "log10", "exp", "power", "modulo"}
    )
