"""Mode shared: the run of which three compute parties work out the comparison vectors together.

All three do the same steps (`job`): they agree on the blocks (`candidate_rows`), compare on shares what the plan
compares (`comparisons`), and permute. Carole reads what is opened to her (`opened_levels`), from which the model is
fitted as in every mode (`shared_files`).
"""
