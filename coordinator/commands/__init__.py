"""The coordinator's commands, one module each; they import what they need when they run, so that help is instant."""
