"""The decision core: pure functions over frozen values.

It must not read a clock, the environment, the network or a log: `now` is an argument, facts come in an
Observation, and what should happen leaves in a Decision. So any decision can be replayed from its inputs.
"""
