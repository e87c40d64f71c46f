"""The live page of `socsim explore`: a few knobs, and what a change of them does, simulated at once."""
