"""The trimmers as parts of frameworks; each module needs the framework that it is named after."""
