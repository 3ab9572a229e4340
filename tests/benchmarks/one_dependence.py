"""One-dependence against naive Bayes and logistic regression: log loss and accuracy on rows held out.

`python -m tests.benchmarks.one_dependence` prints the means over four splits with the standard error over splits. Bins
are cut on all rows, without looking at labels; they are the same for all models.
"""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bayesnb

SPLITS = 4


def tables() -> dict[str, tuple[np.ndarray, np.ndarray, list[int]]]:
    """Levels as codes, labels as codes, and the numbers of rows to fit."""
    votes = bayesnb.datasets.load("votes")
    codes = votes.X.fillna("no vote").apply(lambda column: column.astype("category").cat.codes).to_numpy(int)
    cancer, benign = load_breast_cancer(return_X_y=True)
    quartiles = np.quantile(cancer, [0.25, 0.5, 0.75], axis=0)
    bins = np.stack([np.searchsorted(q, x, side="right") for q, x in zip(quartiles.T, cancer.T, strict=True)], 1)
    pixels, digit = load_digits(return_X_y=True)
    return {
        "votes": (codes, np.unique(votes.y, return_inverse=True)[1], [50, 200, 350]),
        "breast cancer, 4 bins": (bins, benign, [50, 200, 450]),
        "digits, 3 levels": (np.digitize(pixels, [4, 11]), digit, [200, 1000]),
    }


def main() -> None:
    """Print the table."""
    print(f"log loss in nats ± standard error over {SPLITS} splits / accuracy, on rows held out")
    for name, (X, y, sizes) in tables().items():
        k = X.max(0) + 1
        models = {
            "naive Bayes": bayesnb.CategoricalNB(min_categories=k),
            "one-dependence": bayesnb.OneDependenceNB(min_categories=k),
            "logistic": make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1000)),
        }
        for n in sizes:
            found: dict[str, list[tuple[float, float]]] = {model: [] for model in models}
            for split in range(SPLITS):
                X1, X2, y1, y2 = train_test_split(X, y, train_size=n, stratify=y, random_state=split)
                for model, nb in models.items():
                    fitted = clone(nb).fit(X1, y1)
                    loss = -fitted.predict_log_proba(X2)[np.arange(len(y2)), y2].mean()
                    found[model].append((loss, fitted.score(X2, y2)))
            cells = []
            for model, values in found.items():
                (loss, accuracy), error = np.mean(values, 0), np.std([v[0] for v in values], ddof=1) / SPLITS**0.5
                cells.append(f"{model} {loss:.3f} ±{error:.3f} / {accuracy:.3f}")
            print(f"{name}, n = {n}: " + ", ".join(cells), flush=True)


if __name__ == "__main__":
    main()
