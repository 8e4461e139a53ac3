"""Sessions of mode shared: three processes that compute together, by messages that Carole passes on and cannot read.

`handshake` agrees on keys; a party sends and receives by a `relayed_channel`, through Carole's `message_relay`;
`joined_session` is both, from joining to its end. `fetched_contribution` and `session_rows` are what a party
reads of the custodians' shares, `local_session` is three parties in one process.
"""
