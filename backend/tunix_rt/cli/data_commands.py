"""`tunix-rt data …`: every command around datasets."""

from tunix_rt.cli import data_xray
from tunix_rt.cli.data import app

app.command("xray")(data_xray.xray)
