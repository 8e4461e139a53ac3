"""The steps of a custodian's work, a module for each task that Carole gives; all receive a `StepContext`."""
