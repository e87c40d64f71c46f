"""Readers of model descriptions written elsewhere: each turns one file format into an `Architecture`."""
