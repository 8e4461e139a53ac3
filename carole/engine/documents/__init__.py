"""A run's result as documents of counts and parameters, for those who judge it."""
