"""Answers as files, tried before anything is charged, and written whole."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameterError, redacted

if TYPE_CHECKING:
    from deniable.release import Release


def as_csv(release: "Release") -> bytes:
    """Return a release as `Release.to_csv` writes it."""
    return (release.to_csv() or "").encode()


def as_json(release: "Release") -> bytes:
    """Return rows, cost and notes as JSON text."""
    return (release.to_json(indent=2) + "\n").encode()


def as_parquet(release: "Release") -> bytes:
    """Return a Parquet file with interval columns."""
    import io

    buffer = io.BytesIO()
    release.to_parquet(buffer)
    return buffer.getvalue()


def as_page(release: "Release", policy: str = "") -> bytes:
    """Return a small page that loads nothing, with the day and the policy's name."""
    from deniable.release.display import as_page as page

    title = f"{policy}: {release.text or 'answer'}" if policy else ""
    origin = f"policy {policy}, " if policy else ""
    return page(release, title=title, origin=f"{origin}written on {date.today().isoformat()}").encode()


FORMATS: Mapping[str, Callable[["Release"], bytes]] = {
    ".csv": as_csv,
    ".json": as_json,
    ".parquet": as_parquet,
    ".html": as_page,
}


def format_of(path: Path) -> Callable[["Release"], bytes]:
    """Return the form that a file name asks for.

    Raises: InvalidParameterError if its ending is not known.
    """
    if path.suffix.lower() not in FORMATS:
        raise InvalidParameterError(f"--output takes a name that ends in {', '.join(FORMATS)}, got {redacted(path)!r}.")
    return FORMATS[path.suffix.lower()]


@contextmanager
def whole_file(
    path: Path, *, option: str = "--output", never: tuple[Path, ...] = ()
) -> Iterator[Callable[[bytes], None]]:
    """Return a function that writes the file at once and whole.

    If it is not called, or fails, the old file stays.

    Args:
        option: of the command line that names it.
        never: files that must not be replaced, such as the private data.

    Raises: InvalidParameterError on entry if the file could not be written.
    """
    if path.is_dir() or any(_same(path, kept) for kept in never):
        raise InvalidParameterError(
            f"{option} {redacted(path)!r} would replace a folder, the data, the ledger or the policy. Nothing was "
            "asked. Give another name."
        )
    try:
        folder = tempfile.TemporaryDirectory(prefix=".deniable-", dir=path.parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise InvalidParameterError(
            f"{option} {redacted(path)!r} cannot be written ({error.strerror}). Nothing was asked. Give another place."
        ) from None
    with folder:
        draft = Path(folder.name) / path.name

        def write(content: bytes) -> None:
            try:
                draft.write_bytes(content)
                os.replace(draft, path)
            except OSError as error:
                raise InvalidParameterError(
                    f"the file {redacted(path)!r} could not be written ({error.strerror}). The answer is in the "
                    "ledger: ask again with another place, at no cost."
                ) from None

        yield write


def _same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))
