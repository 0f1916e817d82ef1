"""The experiments that DPC was first measured with, E1 to E7, in virtual time."""
