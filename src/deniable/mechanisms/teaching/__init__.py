"""Mechanisms that keep a definition and protect nobody; ledgers refuse them."""

from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.teaching.all_or_nothing import AllOrNothing
from deniable.mechanisms.teaching.name_and_shame import NameAndShame
from deniable.mechanisms.teaching.random_record import RandomRecord

TEACHING: tuple[type[Mechanism], ...] = (NameAndShame, AllOrNothing, RandomRecord)

__all__ = ["AllOrNothing", "NameAndShame", "RandomRecord"]
