"""Finding: procedures, tools and documents in one index, by their words and, where installed, by their meaning."""

from sopwith.find.embedding import Embedder, installed_embedder
from sopwith.find.entry import Entry, Kind
from sopwith.find.index import Hit, Index, Parts, Synced
from sopwith.find.words import words

__all__ = ["Embedder", "Entry", "Hit", "Index", "Kind", "Parts", "Synced", "installed_embedder", "words"]
