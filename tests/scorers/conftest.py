from checkpoints import checkpoint, own_cache

__all__ = ["checkpoint", "own_cache"]
