"""What a researcher does with drawn linkages: an estimate from each of them, combined into one."""
