"""Identification risk: how likely an intruder is to find the right person behind a released record.

`KeyFile` is what everything starts from: the records' key variables, the sampling fraction, the population where it is
known. `file_level` has one number for the file, `strategies` what an intruder's searches would achieve.

- `suda`, `suda_ranking`: the smallest sets of keys on which a record is alone, and scores by them;
- `calibration`: each record's chance of being one of few, as the file itself bears it out;
- `loglinear`: that chance by log-linear models, and which to prefer;
- `matching`: the intruder who models, what comes of it, and what would lower it;
- `misclassification`: risk where key values were swapped or are wrong;
- `privacy_models`, `individual_risk`, `numeric_risk`: what officers also expect: k-anonymity and its
  kin, risk by survey weights, of whole units (households, enterprises), of perturbed numbers;
- `assessment`: all of it for one file, or for several key sets, in words.

Numbers only, but for the readers, the report and the commands.
"""
