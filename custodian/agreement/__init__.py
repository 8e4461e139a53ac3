"""How the two custodians agree on their seed: through Carole, who learns nothing of it, or by a file given by hand.

`agreement` and `agreement_messages`: what is sent and signed; `key_exchange`: the two halves of the exchange, ML-KEM
and a curve; `transcript`: what the seed is bound to; `agreement_state`: what is kept between messages; `seed_file`: the
seed by hand.
"""
