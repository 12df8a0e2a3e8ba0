"""The judge of z-anonymity: every release is recounted from the files alone."""
