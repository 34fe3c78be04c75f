"""`deniable attack NAME`: attacks on releases of the steward's own data.

One file a subcommand.
"""

import typer

from deniable.app.commands.attack.anonymity import anonymity
from deniable.app.commands.attack.block import block
from deniable.app.commands.attack.differencing import differencing
from deniable.app.commands.attack.linkage import linkage
from deniable.app.commands.attack.membership import membership
from deniable.app.commands.attack.noise import noise
from deniable.app.commands.attack.precision import precision
from deniable.app.commands.attack.reconstruction import reconstruction
from deniable.app.commands.attack.synthetic import synthetic
from deniable.app.commands.attack.tracing import tracing
from deniable.app.commands.attack.twister import twister
from deniable.app.commands.attack.uniqueness import uniqueness

attack = typer.Typer(
    help="Try what an attacker gets out of a release, on your own data. For the owner alone.", no_args_is_help=True
)
for command in (
    anonymity,
    block,
    differencing,
    linkage,
    membership,
    noise,
    precision,
    reconstruction,
    synthetic,
    tracing,
    twister,
    uniqueness,
):
    attack.command(command.__name__.replace("_", "-"))(command)
