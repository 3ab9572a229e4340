"""How many free parameters a generative classifier has, with and without the naive assumption."""


def count_parameters(n_features: int, n_classes: int = 2, n_levels: int = 2, *, naive: bool = True) -> int:
    """Number of free parameters of p(x, y) for categorical features.

        naive   (C − 1) + C d (k − 1)        one distribution a class and feature
        full    (C − 1) + C (k^d − 1)        one probability for every combination of features

    With yes/no features and two classes these are 2d + 1 and 2^(d+1) − 1. With d = 30 features they are 61 and two
    billion.

    Parameters
    ----------
    n_features, n_classes, n_levels : d ≥ 0, C ≥ 1, k ≥ 1
    naive : whether the features are independent given the class

    Examples
    --------
    >>> from bayesnb.analysis.counting import count_parameters
    >>> count_parameters(10), count_parameters(10, naive=False)
    (21, 2047)
    """
    cells = n_features * (n_levels - 1) if naive else n_levels**n_features - 1
    return n_classes - 1 + n_classes * cells
