"""``gemel risk``: disclosure risk of tables and records, on this machine alone."""

from __future__ import annotations

import typer

from gemel.risk.commands.attribution import app as attribution
from gemel.risk.commands.attribution import tables
from gemel.risk.commands.identification import identify
from gemel.risk.commands.magnitude import magnitude
from gemel.risk.commands.models import models
from gemel.risk.commands.protection import protect

app = typer.Typer(help="Disclosure risk of tables and records. Nothing is sent anywhere.", no_args_is_help=True)
app.command("identify")(identify)
app.command("protect")(protect)
app.command("tables")(tables)
app.command("magnitude")(magnitude)
app.command("models")(models)
app.add_typer(attribution, name="attribution")
