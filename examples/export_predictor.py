"""Write a predictor as a file, and use it in a process that has JAX and NumPy but not bayesnb.

The file holds a program: log p(y | x) of any number of rows, with the numbers of the posterior as an argument. A model
that is fitted again needs no new program, only its numbers.

    python examples/export_predictor.py        (needs: pip install jax numpy bayesnb flatbuffers)
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import numpy as np
from jax import export
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

import bayesnb

ELSEWHERE = """
import sys
import jax
import numpy as np
from jax import export

sys.modules["bayesnb"] = None  # an import would fail
with jax.enable_x64(True), np.load("posterior.npz") as numbers, open("predictor.bin", "rb") as file:
    predictor = export.deserialize(bytearray(file.read()))
    log_p = predictor.call([numbers[name] for name in numbers.files], np.load("rows.npy"))
np.save("log_p.npy", log_p)
"""


def main() -> None:
    """Fit, export, predict in another process, compare, and do the same with the model of more rows."""
    X, y = load_iris(return_X_y=True)
    X, X_new, y, _ = train_test_split(X, y, random_state=0)
    nb = bayesnb.GaussianDA().fit(X[:60], y[:60])
    numbers, structure = jax.tree.flatten(nb.posterior_)

    def predict(numbers: list[jax.Array], rows: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(jax.tree.unflatten(structure, numbers).log_joint({"x": rows}))

    with jax.enable_x64(True), TemporaryDirectory() as folder:
        place = Path(folder)
        rows = jax.ShapeDtypeStruct(export.symbolic_shape("n, 4"), X.dtype)
        exported = export.export(jax.jit(predict))(numbers, rows)
        place.joinpath("predictor.bin").write_bytes(exported.serialize())
        np.save(place / "rows.npy", X_new)
        for more in (False, True):
            if more:
                nb.partial_fit(X[60:], y[60:])
            numbers = jax.tree.leaves(nb.posterior_)
            np.savez(place / "posterior.npz", *numbers)
            subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=place, check=True)
            there, here = np.load(place / "log_p.npy"), np.asarray(exported.call(numbers, X_new))
            assert there.tobytes() == here.tobytes()
            np.testing.assert_allclose(there, nb.predict_log_proba(X_new), atol=1e-10)
            print(f"{int(nb.class_count_.sum())} rows fitted, {len(there)} predicted: the same bits in both processes")


if __name__ == "__main__":
    main()
