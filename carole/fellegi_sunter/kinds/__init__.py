"""Kinds of pairs: which fields two records share because of who they are, and which of these are one person.

Two records of one person share the true values of all fields that have not changed in between; a family shares its
surname and address, neighbours a postcode, strangers nothing but by chance. A kind of pairs is the set of fields that
are shared. In these the levels of a pair have the distribution m, in the others that of strangers.

`law`: how strangers agree; `pair_kinds`: the densities and sizes of kinds, and which there are; `relations`: what part
of each is one person, by what people `changes`; `joint_model`: all of it together; `rounds`: each part from the others;
`estimation`: all in turn; `diagnosis`: where independence fails.
"""
