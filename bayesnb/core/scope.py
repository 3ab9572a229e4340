"""NumPyro's scope for one of several blocks: its sites and plates get a prefix, the plate of the rows is shared."""

import functools
from typing import Any


@functools.cache
def _block_scope() -> type:
    from numpyro.handlers import scope

    class BlockScope(scope):
        """`numpyro.handlers.scope`, under which labels that all blocks share may be enumerated.

        NumPyro's own gives every block its own plate of rows, and does not rename the plates of a factor of funsor.
        """

        def process_message(self, msg: Any) -> None:
            shared = msg["type"] == "plate" and msg["name"] == "row"
            frames = msg.get("cond_indep_stack") or []
            if not shared:
                super().process_message(msg)
            if frames:
                msg["cond_indep_stack"] = [
                    old if old.name == "row" else new for old, new in zip(frames, msg["cond_indep_stack"], strict=True)
                ]

        def postprocess_message(self, msg: Any) -> None:
            names: Any = (msg.get("infer") or {}).get("dim_to_name") or {}
            for frame in msg["cond_indep_stack"] if names else ():
                if frame.dim in names:
                    names[frame.dim] = frame.name

    return BlockScope


def block_scope(prefix: str) -> Any:
    """A scope that puts `prefix.` before the names of a block's sites and plates, except the plate of the rows."""
    return _block_scope()(prefix=prefix, divider=".")
