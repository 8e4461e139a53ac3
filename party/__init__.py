"""The guided ceremony, by which organisations that do not share a machine become members of a linkage.

Each member types one command, `gemel party join`, and the coordinator `gemel party convene`. One file goes from each
member to the coordinator and one comes back, the same for all. Then the members read digits out to each other, and
nothing is put into its place before the digits that others have read out are typed.

- `configurations`: where a member's files are, and its configuration, written from the file it has received.
- `membership_file`: the file that everyone receives, and the digits that follow from it.
- `comparison`: whose digits each member types; they are shown, typed and compared.
- `joining`, `convening`: the two commands' steps.
- `own_keys`: a member's new keys.
"""
