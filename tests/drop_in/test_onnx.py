"""skl2onnx converts the drop-in classes as scikit-learn's of the same name, once it is told so, as the guide does."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from bayesnb import drop_in

skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx, an optional package of the tests, is not installed")
onnxruntime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime, an optional package of the tests, is not installed"
)
OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


@pytest.mark.parametrize("name", drop_in.__all__)
def test_a_drop_in_class_is_written_as_onnx(name: str) -> None:
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    from skl2onnx.operator_converters.naive_bayes import convert_sklearn_naive_bayes

    kind = getattr(drop_in, name)
    skl2onnx.update_registered_converter(
        kind,
        f"Sklearn{name}",
        calculate_linear_classifier_output_shapes,
        convert_sklearn_naive_bayes,
        options=OPTIONS,
    )
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam", "eggs"])[np.arange(90) % 3]
    X = rng.poisson(1 + np.arange(90)[:, None] % 3, (90, 4))
    rows = X.astype(np.int64 if name == "CategoricalNB" else np.float32)
    models = {"alone": kind().fit(X, y)}
    if name != "CategoricalNB":
        models["in a pipeline"] = make_pipeline(MinMaxScaler(), kind()).fit(X, y)
    for model in models.values():
        file = skl2onnx.to_onnx(model, rows[:1], options={"zipmap": False}).SerializeToString()
        labels, proba = onnxruntime.InferenceSession(file).run(None, {"X": rows})
        np.testing.assert_array_equal(labels, model.predict(X))
        np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-5)
