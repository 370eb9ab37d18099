"""The hooks of Paceline: one module an event, standard library only on the fast path."""
