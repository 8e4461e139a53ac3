"""Evaluation of a linkage, against the truth and without it.

Against the truth, `link_quality`: precision, recall and F1 of a decision and of the best threshold, the expected
precision-recall curve, calibration. Without it, `check_field` estimates the share of false links from a field that
links are made without, and `quality_estimate` from links to records of no person's. No input or output.
"""
