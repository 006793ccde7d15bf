from tests.idle import engine, history, settings

__all__ = ["engine", "history", "settings"]
