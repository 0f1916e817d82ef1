"""Participants of `load` in virtual time: contracts between them, messages that may be lost, late or doubled, crashes, and what must hold."""
