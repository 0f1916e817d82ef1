"""The experiments that DPC was first measured with, E1 to E6, in virtual time."""
