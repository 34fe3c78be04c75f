"""`deniable import`: make a typed table of a text file."""

from pathlib import Path

from deniable.app.opening import read
from deniable.app.options import PolicyFile
from deniable.app.terminal import hint, say, waiting
from deniable.errors import CatalogError

WARNING = "FOR THE OWNER OF THE DATA ALONE: these counts are exact, no noise protects anybody in them."


def import_(policy: PolicyFile) -> None:
    """Read a policy's CSV file once, as the policy declares; for the owner alone.

    The counts it prints are exact.

    Writes FILE.csv.parquet, which questions are asked of, and FILE.csv.report.csv, with every line that was not read
    whole. Import again when the file or the declaration has changed.
    """
    declared = read(policy)
    imports = [
        (Path(each.source), each.csv) for each in declared.several.values() or (declared,) if each.csv is not None
    ]
    if not imports:
        raise CatalogError(
            f"{Path(declared.source).name} is read as it is. Only text files are imported: .csv, .tsv, .txt."
        )
    from deniable.files.write import import_csv

    for source, csv in imports:
        with waiting("importing...") as progress:
            done = import_csv(source, csv, progress=progress)
        say(WARNING)
        say(str(done))
    hint("Now ask: deniable query policy.toml SQL")
