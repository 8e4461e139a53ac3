"""``tryst risk``: disclosure risk of tables and records, on this machine alone."""

from __future__ import annotations

import typer

from tryst.risk.commands.attribution import app as attribution
from tryst.risk.commands.attribution import tables
from tryst.risk.commands.identification import identify
from tryst.risk.commands.magnitude import magnitude
from tryst.risk.commands.models import models
from tryst.risk.commands.protection import protect

app = typer.Typer(help="Disclosure risk of tables and records. Nothing is sent anywhere.", no_args_is_help=True)
app.command("identify")(identify)
app.command("protect")(protect)
app.command("tables")(tables)
app.command("magnitude")(magnitude)
app.command("models")(models)
app.add_typer(attribution, name="attribution")
