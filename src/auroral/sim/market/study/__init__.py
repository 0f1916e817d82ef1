"""The published studies of the market, repeated: large populations under static and varying load, and what contracts are worth."""
