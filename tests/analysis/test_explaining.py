"""Words beside sparse counts: names that are given, or those of a fitted pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesnb

TEXTS = [
    "win money now",
    "money for free",
    "win a free lunch",
    "lunch at noon",
    "notes of the lunch",
    "money for lunch",
]
TEXTS *= 5
LABELS = np.array([1, 1, 1, 0, 0, 0] * 5)
MODELS = {
    "plain": bayesnb.MultinomialNB(),
    "complement": bayesnb.ComplementNB(),
    "calibrated": bayesnb.CalibratedClassifierLOO(bayesnb.MultinomialNB()),
    "discriminative": bayesnb.DiscriminativeNB(),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_last_step_explains_and_the_words_are_the_names(name):
    pipeline = make_pipeline(CountVectorizer(), TfidfTransformer(use_idf=False), clone(MODELS[name])).fit(TEXTS, LABELS)
    rows = pipeline[:-1].transform(TEXTS)
    words = pipeline[:-1].get_feature_names_out()
    by_pipeline = bayesnb.explain(pipeline, TEXTS[:3], against=0)
    by_hand = pipeline[-1].explain(rows[:3], against=0)
    is_word = by_hand.feature.map(lambda feature: not isinstance(feature, str))
    assert is_word.any()
    called = [feature if isinstance(feature, str) else words[feature] for feature in by_hand.feature]
    assert by_pipeline.feature.tolist() == called
    pd.testing.assert_frame_equal(by_pipeline.drop(columns="feature"), by_hand.drop(columns="feature"))
    # the same names from the pipeline, from its transformers, and from a list
    for names in (pipeline, pipeline[:-1], words, words.tolist()):
        named = pipeline[-1].explain(rows[:3], against=0, feature_names=names)
        pd.testing.assert_frame_equal(named, by_pipeline)


@pytest.mark.parametrize("name", ["plain", "calibrated", "discriminative"])
def test_importance_of_words(name):
    pipeline = make_pipeline(CountVectorizer(), clone(MODELS[name])).fit(TEXTS, LABELS)
    rows, words = pipeline[0].transform(TEXTS), pipeline[0].get_feature_names_out()
    by_pipeline = bayesnb.importance(pipeline, TEXTS, LABELS)
    by_hand = bayesnb.importance(pipeline[-1], rows, LABELS)
    assert by_pipeline.feature.tolist() == words[by_hand.feature.astype(int)].tolist()
    pd.testing.assert_frame_equal(by_pipeline.drop(columns="feature"), by_hand.drop(columns="feature"))
    pd.testing.assert_frame_equal(
        bayesnb.importance(pipeline[-1], rows, LABELS, feature_names=pipeline[0]), by_pipeline
    )


def test_tables_and_weights_of_words():
    pipeline = make_pipeline(CountVectorizer(), bayesnb.MultinomialNB()).fit(TEXTS, LABELS)
    column = pipeline[0].vocabulary_["money"]
    of_word = pipeline[-1].tables("money", feature_names=pipeline)["money"]
    pd.testing.assert_frame_equal(of_word, pipeline[-1].tables(column)[column])
    with pytest.raises(ValueError, match=r"`features` has 'mony'.*did you mean 'money'"):
        pipeline[-1].tables("mony", feature_names=pipeline)
    one = bayesnb.OneDependenceNB().fit(np.eye(3)[[0, 1, 2, 0]].astype(int), [0, 1, 0, 1])
    assert list(one.tables(feature_names=["a", "b", "c"])) == ["a", "b", "c"]
    weights = bayesnb.rank_features(pipeline, n_draws=20)
    numbers = bayesnb.rank_features(pipeline[-1], n_draws=20)
    assert weights.feature.tolist() == pipeline[0].get_feature_names_out()[numbers.feature.astype(int)].tolist()


def test_columns_without_names_keep_their_numbers():
    hashing = HashingVectorizer(n_features=16, alternate_sign=False, norm=None)
    pipeline = make_pipeline(hashing, bayesnb.MultinomialNB()).fit(TEXTS, LABELS)
    table = bayesnb.explain(pipeline, TEXTS[:1], against=0)
    assert all(isinstance(feature, int | np.integer) for feature in table.feature[1:])
    with pytest.raises(ValueError, match="`feature_names` is a Pipeline that does not name its columns"):
        pipeline[-1].tables(feature_names=pipeline)
    named = [f"bucket {j}" for j in range(16)]
    assert bayesnb.explain(pipeline, TEXTS[:1], against=0, feature_names=named).feature[1].startswith("bucket")
    # a pipeline of one step, and an estimator in none, have the rows as they are
    X, y = np.eye(4)[:, :2], [0, 0, 1, 1]
    nb = bayesnb.BernoulliNB().fit(X, y)
    expected = nb.explain(X)
    pd.testing.assert_frame_equal(bayesnb.explain(nb, X), expected)
    pd.testing.assert_frame_equal(bayesnb.explain(make_pipeline(nb), X), expected)


def test_what_explains_nothing_is_refused():
    pipeline = make_pipeline(CountVectorizer(), bayesnb.MultinomialNB())
    with pytest.raises(NotFittedError):
        bayesnb.explain(pipeline, TEXTS)
    pipeline.fit(TEXTS, LABELS)
    rows = pipeline[0].transform(TEXTS)
    for names, message in [
        (["a", "b"], "`feature_names` has 2 names, but the model has 11 features"),
        ("words", "`feature_names` is 'words'; give a list"),
        (CountVectorizer(), "`feature_names` is a CountVectorizer that does not name its columns.*or fit it"),
    ]:
        for ask in (
            lambda names: pipeline[-1].explain(rows, feature_names=names),
            lambda names: pipeline[-1].tables(feature_names=names),
            lambda names: bayesnb.importance(pipeline, TEXTS, LABELS, feature_names=names),
        ):
            with pytest.raises(ValueError, match=message):
                ask(names)
    with pytest.raises(TypeError, match="`estimator` is StandardScaler; explain needs an estimator of bayesnb"):
        bayesnb.explain(StandardScaler(), np.eye(3))
