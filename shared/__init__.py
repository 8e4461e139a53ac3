"""Mode `shared`: Carole, the coordinator and a steward link records of which none of the three can read anything alone.

`gates`: the numbers, what the three compute and check on shares. `session`: how the three find each other and exchange
messages. `run`: the run that they work out together. `parties`: the coordinator's and the steward's process. The
protocol is docs/shared-mode.md, why it is ours docs/adr/0020-own-arithmetic-for-mode-shared.md; what custodians send is
`common/signatures`, and Carole's part `carole/service/computing.py`.
"""
