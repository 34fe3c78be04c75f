"""Federated training: clients keep their rows, and a server adds up updates.

Noise is added by the server, or by the clients.
"""

from deniable.learning.federated.additive_shares import joined, split
from deniable.learning.federated.clients import LocalDescent, Participant, Softmax, private_descent
from deniable.learning.federated.codecs import Sign, Top
from deniable.learning.federated.rounds import Federated
from deniable.learning.federated.secure import SecureClient, SecureServer, SecureSum
from deniable.learning.federated.transport import Pipes, Simulation, take_part

__all__ = [
    "Federated",
    "LocalDescent",
    "Participant",
    "Pipes",
    "SecureClient",
    "SecureServer",
    "SecureSum",
    "Sign",
    "Simulation",
    "Softmax",
    "Top",
    "joined",
    "private_descent",
    "split",
    "take_part",
]
