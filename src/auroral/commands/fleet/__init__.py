"""Commands that start, watch and disturb the processes of a deployment."""
