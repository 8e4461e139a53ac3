"""The public documents of a run, each one pydantic model: written, read and described from here.

`document`: the base of all. `model_document`, `linkage_document`, `assessment_document`: one each. `result_warning`:
warnings about a result, with the codes that `warning_codes` registers. `disclosure_measures`: what each measure means.
`claimed_words`: what a run claims, as it is shown.
"""
