"""Draw some of the demo as `docs/images/demo.svg`: `python docs/picture.py`, on a quiet machine."""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console

from indextables.spark.demo import QUESTIONS, Demo

FILE = Path(__file__).resolve().parent / "images" / "demo.svg"
# the fonts of the default drawing are fetched from another host
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main() -> None:
    """Run three queries of the demo and write the picture."""
    console = Console(width=110, record=True, file=io.StringIO())
    with tempfile.TemporaryDirectory() as folder:
        demo = Demo(console, Path(folder))
        demo.write()
        for question in (QUESTIONS[0], QUESTIONS[1], QUESTIONS[4]):
            demo.ask(question)
        demo.spark.stop()
    drawn = _FONT_FACE.sub("", console.export_svg(title="indextables demo", unique_id="demo"))
    FILE.write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
