"""What a researcher does with linked records: the linked file, and estimates from drawn linkages, combined into one."""
