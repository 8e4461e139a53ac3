"""The steps of a custodian's work, a module for each task that Carole gives; `step_context` is what all of them get."""
