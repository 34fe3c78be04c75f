"""Federated training: clients who keep their rows, a server who adds up updates, and noise by one of them or by all."""

from deniable.learning.federated.clients import LocalDescent, Participant, Softmax, private_descent
from deniable.learning.federated.codecs import Sign, Top
from deniable.learning.federated.rounds import Federated, Trained
from deniable.learning.federated.secure import SecureClient, SecureServer, SecureSum, joined, split
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
    "Trained",
    "joined",
    "private_descent",
    "split",
    "take_part",
]
