"""`indextables ui`: tables in a browser, read-only, on this machine."""

from __future__ import annotations

import sys
import webbrowser
from typing import Annotated

import typer

from indextables.cli.options import Conf, settings
from indextables.cli.output import console, failures


def ui(
    locations: Annotated[
        list[str],
        typer.Argument(metavar="LOCATION...", help="Tables, or folders with tables in them."),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    conf: Conf = None,
) -> None:
    """Search tables and look into them in a browser, without Spark.

    The page is served on this machine only, shows and changes nothing else, and ends with Ctrl-C.
    """
    from indextables.page.answers.shelf import Shelf
    from indextables.page.serve import open_site

    with failures():
        options = settings(conf)
        Shelf(locations, options).check()
        site = open_site(locations, options, port)
        console().print(f"[bold]{site.url}[/]", soft_wrap=True)
        console(stderr=True).print("Open this link in a browser; Ctrl-C ends the page.")
        if browser and sys.stdout.isatty():
            webbrowser.open(site.url)
        site.run()
