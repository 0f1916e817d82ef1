"""The cores of `dpc` in virtual time: clock, network, evaluation and faults, all drawn from one seed."""
