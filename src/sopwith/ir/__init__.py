"""The data that everything else speaks: procedure, event, state, decision, outcome. No behaviour, no I/O."""
