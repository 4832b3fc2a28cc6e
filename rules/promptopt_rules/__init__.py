"""The rules that ship with promptopt: one folder per family, one file per rule."""
