"""Duplicates inside one custodian's file, found at home: no party, no key that lasts, nothing sent."""
