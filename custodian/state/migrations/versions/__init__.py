"""The versions of the schema, one module each, named by its number."""
