"""Decomposable graphical models of categorical data: found by search, fitted, asked."""
