"""What makes other pairs agree: fields that depend on each other, and classes of kin beside the matches.

`estimation` is the EM, `starting_classes` where it starts, `diagnosis` the model and where independence fails.
"""
