"""The public documents of a run, each one pydantic model: written, read, described and exported from here.

`document`: the base of all. `model_document`, `linkage_document`, `linkage_document`, `assessment_document` and
`model_document`: one each. `result_warning`: warnings about a result, with the codes that `warning_codes`
registers. `reference`: their descriptions as a page, and their JSON Schemas.
"""
