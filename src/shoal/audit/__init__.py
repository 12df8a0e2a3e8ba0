"""The judge: whether the promises held, by code that shares nothing with the code that made them."""
