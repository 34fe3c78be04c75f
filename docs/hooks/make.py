"""Write the pages that are made from the code, and the index of the course: `make pages`."""

from pathlib import Path

import commands
import course_index
import gallery_table
import mechanism_table
import statistic_table

REFERENCE = Path(__file__).parents[1] / "reference"
PAGES = {
    "../course/index.md": course_index.page,
    "commands.md": commands.page,
    "gallery.md": gallery_table.page,
    "mechanisms.md": mechanism_table.page,
    "statistics.md": statistic_table.page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
