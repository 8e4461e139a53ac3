"""A custodian's contribution as it is sent: signature sets, their sizes and their bytes.

`signature_sets` is the data, `layout` its sizes and their bounds, `payload` its canonical bytes. A custodian makes them
(`custodian.encoding`), Carole reads them.
"""
