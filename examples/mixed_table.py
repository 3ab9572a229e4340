"""A table of measurements, categories and missing cells, as it comes: penguins.

Nothing is imputed, scaled or encoded: a missing cell is left out, and every column has a likelihood of its own kind.

Run it with `python examples/mixed_table.py`.
"""

import numpy as np
from sklearn.model_selection import cross_val_score

import bayesnb


def main() -> None:
    """Print the parts, the accuracy, and what is known of a bird of which little was measured."""
    data = bayesnb.datasets.load("penguins")
    X, y = data.X, data.y
    print(f"{len(X)} penguins, {X.shape[1]} columns, {int(X.isna().sum().sum())} missing cells\n")

    nb = bayesnb.MixedNB("auto").fit(X, y)
    for name, part, columns in nb.parts_:
        print(f"{name:<10}{type(part).__name__:<15}{', '.join(map(str, columns))}")
    scores = cross_val_score(nb, X, y, cv=10)
    print(f"\naccuracy of ten folds {scores.mean():.3f}; exact leave-one-out {nb.loo(X, y).accuracy:.3f}")

    # the fewer columns are known, the less is said
    bird = X.iloc[[200]]
    print(f"\n{f'a {y[200]}, column by column':<34}{'entropy':>9}  most probable")
    for k, column in enumerate(X.columns, 1):
        known = bird.where(np.arange(X.shape[1])[None] < k)  # the other cells are missing
        p = nb.predict_proba(known)[0]
        entropy = nb.uncertainty(known).total[0]
        print(f"  + {column:<30}{entropy:>9.3f}  {nb.classes_[p.argmax()]} {p.max():.3f}")

    # which columns to keep? the evidence of each part adds up, so models of fewer columns compare
    measured = [column for column in X.columns if column not in ("island", "year")]
    models = {"all columns": bayesnb.MixedNB("auto"), "numbers alone": bayesnb.GaussianNB()}
    numbers = X[measured].select_dtypes("number").columns
    print(f"\n{'model':<16}{'columns':>8}{'leave-one-out log loss':>26}")
    for name, model in models.items():
        chosen = X if name == "all columns" else X[numbers]
        loo = model.fit(chosen, y).loo(chosen, y)
        loss = -np.log(loo.proba[np.arange(len(y)), np.searchsorted(model.classes_, y)]).mean()
        print(f"{name:<16}{chosen.shape[1]:>8}{loss:>21.4f} nats")


if __name__ == "__main__":
    main()
