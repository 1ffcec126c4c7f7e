"""The parts of operators: their protocol, stored numbers, iterations with parts, setups in lockstep."""
