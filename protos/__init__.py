"""The wire: protocol buffer definitions and the code generated from them."""
