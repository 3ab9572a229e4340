"""docs/dirichlet_smoothing.html, driven in headless Chromium: every number it shows is the library's."""

import json
import re
import runpy
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, loggamma, logit
from scipy.stats import beta, dirichlet
from sklearn.feature_extraction.text import CountVectorizer

from bayesnb import MultinomialNB

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "dirichlet_smoothing.html"
CLASSES = "ham", "spam"
ESTIMATES = "mle", "map", "mean", "predictive"
SCENES = "zero", "prior", "arriving", "add-one", "twice", "simplex", "play"
TOLERANCE = 1e-6


def start() -> dict[str, Any]:
    """What the page says it starts from."""
    element = PAGE.read_text("utf-8").partition('<script type="application/json" id="data">')[2]
    return json.loads(element.partition("</script>")[0])


WORDS: list[str] = start()["words"]


@dataclass(frozen=True)
class State:
    """What a reader can set: position of the slider, counts of words, numbers of messages, a message."""

    position: int = 0
    counts: tuple[tuple[int, ...], ...] = tuple(map(tuple, start()["counts"]))
    messages: tuple[int, ...] = tuple(start()["messages"])
    text: str = "Free money, free money! Thanks"


# --- the library's numbers ------------------------------------------------------------------------------------------


def fitted(state: State, alpha: float) -> MultinomialNB:
    """A row of all words of each class, and an empty one with the weight of the other messages."""
    X = np.array([row for counts in state.counts for row in (counts, [0] * len(WORDS))])
    weight = [w for n in state.messages for w in (1, n - 1)]
    return MultinomialNB(alpha=alpha).fit(X, np.repeat(CLASSES, 2), sample_weight=weight)


def row(state: State) -> np.ndarray:
    return CountVectorizer(vocabulary=WORDS).transform([state.text]).toarray()


def expected(state: State, alpha: float) -> dict[str, float]:
    """All probabilities of the page but the interval of the message, by the names they have there."""
    nb, found = fitted(state, alpha), {}
    prior, posterior, stats = nb.prior_.blocks["x"], nb.posterior_.blocks["x"], nb.statistics_.blocks["x"]
    theta = {"mle": prior.mle(stats), "map": posterior.mode(), "mean": posterior.mean()}
    table = {name: np.exp(value["log_theta"]) for name, value in theta.items()}
    table |= {f"{level}%": posterior.marginals()["theta"].ppf(level / 100) for level in (5, 95)}
    for name, values in table.items():
        found |= {f"{w} {c} {name}": values[k, j] for k, c in enumerate(CLASSES) for j, w in enumerate(WORDS)}
    for name in ESTIMATES:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the posterior mode has parameters on the boundary")
            proba = nb.set_params(estimate=name).predict_proba(row(state))[0]
        found |= {f"{c} {name}": p for c, p in zip(CLASSES, proba, strict=True)}
    return found


def mass_below(nb: MultinomialNB, x: np.ndarray, p: float) -> float:
    """Posterior probability that p(spam | x, θ) < p, by Gil-Pelaez's integral over log t on a fine grid."""
    if not 0 < p < 1:
        return float(p >= 1)
    a, pi = nb.posterior_.blocks["x"].alpha, nb.posterior_.classes.alpha
    log_t, step = np.linspace(-45, 9, 24_000, retstep=True)
    t = np.exp(log_t)
    log_phi = -1j * t * logit(p)
    for c, sign in ((0, -1), (1, 1)):
        terms = [(1, pi[c], 1), *((1, a[c, j], x[j]) for j in range(len(x))), (-1, a[c].sum(), x.sum())]
        for s, concentration, count in terms:
            log_phi = log_phi + s * (loggamma(concentration + 1j * sign * count * t) - loggamma(concentration))
    return 0.5 - np.exp(log_phi).imag.sum() * step / np.pi


# --- the browser ----------------------------------------------------------------------------------------------------


class Page:
    """The page in a browser: what a reader does, and what there is to read."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def __call__(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def open(self, width: int = 1280, height: int = 800, scheme: str = "light", address: str = "scene=play") -> None:
        """A fresh copy, without motion."""
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        media = [{"name": name, "value": value} for name, value in features.items()]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get("about:blank")
        self.driver.get(f"{PAGE.as_uri()}#{address}")

    def to(self, address: str) -> None:
        """Another scene of the same copy."""
        self("location.hash = arguments[0]", address)
        self.driver.execute_async_script("const done = arguments[0]; setTimeout(done)")  # the event comes after
        assert self("return scene") == address.partition("&")[0].removeprefix("scene=")

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def press(self, *keys: str) -> None:
        """Keys, to whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def put(self, selector: str, value: Any) -> None:
        """A field as if typed."""
        self(
            "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
            "field.dispatchEvent(new Event('input', {bubbles: true}))",
            selector,
            str(value),
        )

    def set(self, state: State) -> None:
        self.put("#alpha", state.position)
        self.put("#message", state.text)
        for c in range(2):
            self.put(f"#messages-{c}", state.messages[c])
            for j, count in enumerate(state.counts[c]):
                self.put(f"#count-{c}-{j}", count)

    @property
    def alpha(self) -> float:
        return float(self.find("#alpha-value").text)

    def shown(self) -> list[tuple[str, float, str]]:
        """Name, number in full and text of every probability on the page."""
        return self(
            "return [...document.querySelectorAll('.scene:not([hidden]) [data-key]')]"
            ".map(e => [e.dataset.key, Number(e.dataset.value), e.textContent])"
        )

    def numbers(self) -> dict[str, float]:
        """The same by name; a number that stands in two places is one number."""
        found: dict[str, float] = {}
        for key, value, _ in self.shown():
            assert found.setdefault(key, value) == value, key
        return found


def browser() -> Any:
    from selenium import webdriver

    names = "chromium", "chromium-browser", "google-chrome"
    binary = next(filter(None, map(shutil.which, names)), None)
    chromedriver = shutil.which("chromedriver")
    if not (binary and chromedriver):
        pytest.fail(f"needs one of {', '.join(names)} and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run"):
        options.add_argument(f"--{flag}")
    for flag in ("disable-background-networking", "disable-component-update", "disable-sync", "disable-quic"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(chromedriver))


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    driver = browser()
    yield driver
    driver.quit()


@pytest.fixture
def page(driver: Any) -> Iterator[Page]:
    """The page, freshly opened; afterwards it must have asked for nothing and complained of nothing."""
    page = Page(driver)
    for kind in ("performance", "browser"):
        driver.get_log(kind)  # what an earlier test left
    page.open()
    yield page
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert PAGE.as_uri() in asked
    assert {url for url in asked if not url.startswith("data:")} == {PAGE.as_uri()}
    assert driver.get_log("browser") == []


# --- numbers --------------------------------------------------------------------------------------------------------


def random_state(position: int) -> State:
    """Counts from none to thousands, and any words: some repeated, some unknown, cut and spelt in all ways."""
    rng = np.random.default_rng(1000 + position)
    size = rng.choice([0.3, 3, 30, 3000], size=(2, 1))
    counts = rng.poisson(size * rng.gamma(1, size=(2, len(WORDS))))
    pool = [*WORDS, "THANKS", "Free!", "money’s", "don't", "a", "naïve", "x_1", "42", "\n", "—"]
    text = " ".join(rng.choice(pool, size=rng.integers(0, 12)))
    return State(position, tuple(map(tuple, counts.tolist())), tuple(rng.integers(1, 300, 2).tolist()), text)


NOTHING = State(counts=((0,) * 6,) * 2, messages=(1, 1))
CASES = {
    "as it starts": State(),
    "no message": State(text=""),
    "only words it has not counted": State(5, text="Dear colleague, 你好"),
    "seen in neither": State(20, counts=((5, 0, 0, 1, 1, 1), (2, 3, 0, 1, 1, 0)), text="business money"),
    "both excluded": State(-60, text="business thanks wrote business"),
    "no word seen at all, small alpha": replace(NOTHING, position=-60),
    "no word seen at all, alpha of one": NOTHING,
    "no word seen at all, large alpha": replace(NOTHING, position=60),
    "one class without words": State(-6, counts=((0,) * 6, (3, 0, 1, 0, 0, 2)), messages=(4, 7)),
    "largest counts": State(0, counts=((100_000,) * 6,) * 2, messages=(100_000, 100_000)),
    "many messages, few words": State(-40, counts=((0,) * 6, (1, 0, 0, 0, 0, 0)), messages=(100_000, 90_000)),
    "a long message": State(3, text="free money " * 90 + "thanks"),
    "one word over and over": State(-20, text="wrote " * 40),
    **{f"random, slider at {k}": random_state(k) for k in range(-60, 61, 5)},
}


@pytest.mark.browser
@pytest.mark.parametrize("state", CASES.values(), ids=CASES)
def test_every_number_is_the_librarys(page: Page, state: State) -> None:
    page.set(state)
    shown, alpha = page.numbers(), page.alpha
    nb, x = fitted(state, alpha), row(state)[0]
    low, high = (shown.pop(f"spam {level}") for level in ("5%", "95%"))
    assert [shown.pop(f"ham {level}") for level in ("5%", "95%")] == [1 - high, 1 - low]
    truth = expected(state, alpha)
    assert shown.keys() == truth.keys()
    for key, value in truth.items():
        assert abs(shown[key] - value) <= TOLERANCE, key
    # each end of the interval lies within the tolerance of the quantile
    for end, level in ((low, 0.05), (high, 0.95)):
        assert mass_below(nb, x, end - TOLERANCE) <= level <= mass_below(nb, x, end + TOLERANCE)
    # and cuts off that part of the library's draws; five standard deviations of their number
    draws = nb.sample_proba([x], 20_000, seed=1)[:, 0, 1]
    margin = 5 * np.sqrt(0.05 * 0.95 / len(draws))
    for end, level in ((low, 0.05), (high, 0.95)):
        assert np.mean(draws < end - TOLERANCE) <= level + margin
        assert np.mean(draws <= end + TOLERANCE) >= level - margin
    # the note says when the library would warn
    boundary = nb.posterior_.blocks["x"].on_boundary()
    note = page.find("#words-note").text
    assert ("at most 1" in note) == boundary
    assert ("0/0" in note) == any(sum(counts) == 0 for counts in state.counts)


@pytest.mark.browser
def test_text_bars_and_dots_say_the_same_as_the_numbers(page: Page) -> None:
    for state in (State(), State(-60), State(60, text="thanks"), random_state(7), random_state(-33), NOTHING):
        page.set(state)
        for key, value, text in page.shown():
            if text in ("0", "1"):
                assert abs(value - int(text)) < 1e-15, key
            elif text in ("<0.001", ">0.999"):
                assert (value < 0.0005) if text[0] == "<" else (value > 0.9995), key
            else:
                assert abs(float(text) - value) <= 0.0005 + 1e-12, key
        numbers = page.numbers()
        boxes = "return [...document.querySelectorAll(arguments[0])].map(e => e.getBoundingClientRect().toJSON())"
        top = float(page.find("#axis span:last-child").text)
        assert max(v for k, v in numbers.items() if k.split()[0] in WORDS) <= top + 1e-9
        for c, name in enumerate(CLASSES):
            for j, word in enumerate(WORDS):
                (track,) = page(boxes, f"#track-{c}-{j}")
                at = {
                    k: numbers[f"{word} {name} {k}"] / top * track["width"] for k in ("mle", "map", "mean", "5%", "95%")
                }
                *bars, band = page(boxes, f"#track-{c}-{j} > *")
                for bar, kind in zip(bars, ("mle", "map", "mean"), strict=True):
                    assert bar["width"] == pytest.approx(max(at[kind], 1), abs=0.1)  # the border of an empty bar
                assert band["left"] - track["left"] == pytest.approx(at["5%"], abs=0.1)
                assert band["width"] == pytest.approx(max(at["95%"] - at["5%"], 4), abs=0.1)  # two borders
        for name in ESTIMATES:
            (line,), (dot,) = page(boxes, f".{name} .line"), page(boxes, f"#dot-{name}")
            centre = (dot["left"] + dot["right"]) / 2 - line["left"]
            assert centre == pytest.approx(numbers[f"spam {name}"] * line["width"], abs=0.1)


@pytest.mark.browser
def test_the_slider_is_a_logarithmic_scale(page: Page) -> None:
    said = page("""
        const slider = document.querySelector("#alpha"), said = [];
        for (slider.value = -60; ; slider.stepUp()) {
            slider.dispatchEvent(new Event("input"));
            said.push([document.querySelector("#alpha-value").textContent, slider.getAttribute("aria-valuetext")]);
            if (slider.value === "60") return said;
        }""")
    assert all(aloud == f"α = {text}" for text, aloud in said)
    alphas = [float(text) for text, _ in said]
    assert (np.diff(alphas) > 0).all()
    np.testing.assert_allclose(alphas, 10 ** (np.arange(-60, 61) / 20), rtol=0.02)  # round numbers
    assert {0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 100, 1000} <= set(alphas)


@pytest.mark.browser
def test_what_it_teaches_is_true(page: Page) -> None:
    """The buttons beside the text lead to where its sentences hold."""

    def click(label: str) -> dict[str, float]:
        page(f"[...document.querySelectorAll('ol button')].find(b => b.textContent === '{label}').click()")
        return page.numbers()

    found = click("α → 0")
    assert page.alpha == 0.001
    assert all(found[f"spam {name}"] < 0.01 for name in ESTIMATES)
    laplace = click("α = 1")
    assert all(laplace[f"{w} {c} mle"] == laplace[f"{w} {c} map"] for w in WORDS for c in CLASSES)
    assert laplace["spam map"] < 1e-16 < 0.5 < laplace["spam mean"]
    two = click("α = 2")
    keys = [f"{w} {c}" for w in WORDS for c in CLASSES]
    np.testing.assert_allclose([two[f"{k} map"] for k in keys], [laplace[f"{k} mean"] for k in keys], rtol=1e-13)
    large = click("α = 1000")
    assert abs(large["spam predictive"] - 21 / 62) < 0.02
    assert all(abs(large[f"{w} ham mean"] - large[f"{w} spam mean"]) < 0.005 for w in WORDS)
    repeated = click("Repeat a word")
    assert page.alpha == 1
    assert 0.5 < repeated["spam predictive"] < repeated["spam mean"] - 0.01
    before = click("α = 1")
    after = click("Counts × 10")
    assert all(0 < after[f"{k} 95%"] - after[f"{k} 5%"] < before[f"{k} 95%"] - before[f"{k} 5%"] for k in keys)
    assert page("return state.play.counts") == [[10 * n for n in row] for row in State().counts]
    page.find("#reset").click()
    assert page.numbers() == laplace


# --- the scenes -----------------------------------------------------------------------------------------------------


def scene_numbers(page: Page, scene: str, said: dict[str, Any]) -> dict[str, float]:
    """What the library says to the numbers of a scene with these settings."""
    alpha, word = said.get("alpha", 1.0), said.get("word", "free")
    ham, spam = State().counts
    j = WORDS.index(word)
    if scene == "simplex":
        names, counts = ("free", "money", "thanks"), said["counts"]
        nb = MultinomialNB(alpha=alpha).fit([counts, [0, 0, 0]], ["spam", "other"])
        prior, posterior, stats = nb.prior_.blocks["x"], nb.posterior_.blocks["x"], nb.statistics_.blocks["x"]
        c = list(nb.classes_).index("spam")
        of = {"mle": prior.mle(stats), "map": posterior.mode(), "mean": posterior.mean()}
        return {f"{w} {k}": np.exp(v["log_theta"][c, i]) for k, v in of.items() for i, w in enumerate(names)}
    if scene == "arriving":
        sequence = page("return SEQUENCE")
        assert np.bincount(sequence, minlength=6).tolist() == list(spam)
        spam = tuple(np.bincount(sequence[: said["counted"]], minlength=6).tolist())
    state = State(counts=(ham, spam), text=" ".join([word] * said.get("times", 0)))
    nb = fitted(state, alpha)
    block, one = nb.posterior_.blocks["x"], np.eye(6)[[j]]
    found: dict[str, float] = {}
    if scene == "zero":
        nb.set_params(estimate="mle")
        x = row(State(text=said["message"]))
        log = nb.predict_joint_log_proba(np.vstack([0 * x, x]))
        orders = gammaln(x.sum() + 1) - gammaln(x + 1).sum()  # log of the orders of the words, alike in both classes
        theta = np.exp(nb.prior_.blocks["x"].mle(nb.statistics_.blocks["x"])["log_theta"])
        for c, name in enumerate(CLASSES):
            found[f"mails {name} factor"] = np.exp(log[0, c])
            found[f"{name} product"] = np.exp(log[1, c] - orders)
            for w, k, p in zip(WORDS, x[0], theta[c], strict=True):
                if k:
                    found[f"{w}{f' × {k}' if k > 1 else ''} {name} factor"] = p**k
        found["spam mle"] = nb.predict_proba(x)[0, 1]
    if scene in ("prior", "arriving"):
        found["prior mean"] = np.exp(nb.prior_.blocks["x"].mean()["log_theta"].ravel()[j])
        name, of = ("prior", nb.prior_.blocks["x"]) if scene == "prior" else ("posterior", block)
        found |= {f"{name} {p}%": of.marginals()["theta"].ppf(p / 100)[-1, j] for p in (5, 95)}
    if scene == "arriving":
        found["posterior mean"] = np.exp(block.mean()["log_theta"][1, j])
    if scene == "add-one":
        found[f"{word} spam mean"] = np.exp(block.mean()["log_theta"][1, j])
        more = fitted(state, alpha + 1).posterior_.blocks["x"]
        found[f"{word} spam mode under α + 1"] = np.exp(more.mode()["log_theta"][1, j])
        found[f"{word} spam next"] = np.exp(block.log_predictive(one)[0, 1])
    if scene == "twice":
        log = block.log_predictive(np.arange(said["times"] + 1)[:, None] * one)
        mean = block.mean()["log_theta"]
        for t, (before, after) in enumerate(pairwise(log), 1):
            found[f"occurrence {t} predictive"] = np.exp(after[1] - before[1] - after[0] + before[0])
            found[f"occurrence {t} plug-in"] = np.exp(mean[1, j] - mean[0, j])
        for name in ("mean", "predictive"):
            found[f"spam {name}"] = nb.set_params(estimate=name).predict_proba(row(state))[0, 1]
    return found


def settings(**said: Any) -> dict[str, Any]:
    return said


MESSAGES = "", "Free money!", State().text, "wrote business business", "你好"
ARRIVED = (
    (1, "free", 0),
    (1, "free", 4),
    (0.001, "thanks", 59),
    (0.5, "think", 31),
    (10, "money", 59),
    (1000, "free", 7),
)
ADDED = (1, "thanks"), (0.5, "thanks"), (0.001, "wrote"), (7.1, "free")
REPEATED = (1, "business", 2), (0.001, "wrote", 6), (50, "free", 1), (2, "thanks", 3)
DRAGGED = (1, (6, 2, 0)), (1, (0, 0, 0)), (0.5, (0, 0, 0)), (5, (45, 15, 0)), (0.1, (0, 60, 0)), (2, (3, 1, 9))
SETTINGS = [
    *(("zero", settings(message=text)) for text in MESSAGES),
    *(("prior", settings(alpha=alpha)) for alpha in (0.001, 0.1, 1, 3.55, 1000)),
    *(("arriving", settings(alpha=alpha, word=word, counted=t)) for alpha, word, t in ARRIVED),
    *(("add-one", settings(alpha=alpha, word=word)) for alpha, word in ADDED),
    *(("twice", settings(alpha=alpha, word=word, times=k)) for alpha, word, k in REPEATED),
    *(("simplex", settings(alpha=alpha, counts=counts)) for alpha, counts in DRAGGED),
]


def address(scene: str, said: dict[str, Any]) -> str:
    text = {key: ",".join(map(str, value)) if key == "counts" else value for key, value in said.items()}
    return "&".join([f"scene={scene}", *(f"{key}={value}" for key, value in text.items())])


@pytest.mark.browser
@pytest.mark.parametrize(("scene", "said"), SETTINGS, ids=[address(*pair) for pair in SETTINGS])
def test_every_number_of_a_scene_is_the_librarys(page: Page, scene: str, said: dict[str, Any]) -> None:
    page.to(address(scene, said))
    truth, shown = scene_numbers(page, scene, said), page.numbers()
    assert shown.keys() == truth.keys()
    for key, value in truth.items():
        # the page's zero is none of the library's smallest numbers; an interval is as exact as its root
        assert shown[key] == pytest.approx(value, rel=1e-9, abs=TOLERANCE if "%" in key else 1e-300), key
    for key, value, text in page.shown():
        if match := re.fullmatch(r"(?:×\s)?([\d.]+(?:e[+-]\d+)?)(?: × 10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", text):
            exponent = int("".join(str("⁰¹²³⁴⁵⁶⁷⁸⁹".index(one)) for one in match[2] or "⁰"))
            said_value = float(match[1]) * 10.0**-exponent
            assert said_value == pytest.approx(value, rel=0.05 if exponent else 0.006, abs=0.0005), key
        else:
            assert (text == "<0.001" and value < 0.0005) or (text == ">0.999" and value > 0.9995), (key, text)
    if scene == "add-one":
        assert len({text for _, _, text in page.shown()}) == 1
        np.testing.assert_allclose(list(shown.values()), next(iter(shown.values())), rtol=1e-12)


def curves(page: Page, chart: str) -> dict[str, np.ndarray]:
    """The lines of a chart in the units of its axes, points by (x, y), by name; of two with one name the later."""
    paths = (
        "return Array.from(document.querySelectorAll(`#${arguments[0]} path`), "
        "e => [e.className.baseVal, e.getAttribute('d')])"
    )
    data = page(f"return {{...document.querySelector('#{chart}').dataset}}")
    limit, bottom, top = (float(data[key]) for key in ("limit", "bottom", "top"))
    found = {}
    for name, d in page(paths, chart):
        x, y = np.array([[float(v) for v in pair.split()] for pair in d.strip("MZ").split("L")]).T / 100
        found[name] = np.column_stack([x * limit, bottom + (1 - y) * (top - bottom)])
    return found


def mark(page: Page, chart: str) -> float:
    data = page(
        f"const e = document.querySelector('#{chart}'); return [e.dataset.limit, e.querySelector('i').style.left]"
    )
    return float(data[0]) * float(data[1].rstrip("%")) / 100


@pytest.mark.browser
def test_the_curves_are_the_densities(page: Page) -> None:
    def check(chart: str, name: str, density: Any) -> None:
        x, y = curves(page, chart)[name].T
        top = float(page(f"return document.querySelector('#{chart}').dataset.top"))
        x, y = x[(x > 1e-3) & (x < 1)], y[(x > 1e-3) & (x < 1)]
        rounded = np.abs(density(x + 1e-6) - density(x - 1e-6))  # the digits written for x
        assert len(x) > 200
        assert (np.abs(y - np.minimum(density(x), 1.5 * top)) <= 1e-5 * top + rounded).all(), (chart, name)

    spam = np.array(State().counts[1])
    for alpha in (0.1, 1, 31.5):
        page.to(f"scene=prior&alpha={alpha}")
        check("prior-chart", "prior", beta(alpha, 5 * alpha).pdf)
        area = curves(page, "prior-chart")["area"]
        numbers = page.numbers()
        assert numbers["prior 5%"] <= area[1:-1, 0].min() + 1e-6 <= numbers["prior 5%"] + 0.01
        assert numbers["prior 95%"] - 0.01 <= area[1:-1, 0].max() - 1e-6 <= numbers["prior 95%"]
        assert mark(page, "prior-chart") == pytest.approx(1 / 6, rel=1e-5)
        for word, counted in (("free", 3), ("thanks", 40)):
            page.to(f"scene=arriving&alpha={alpha}&word={word}&counted={counted}")
            seen = page("return SEQUENCE")
            for name, t in (("prior", 0), ("before", counted - 1), ("now", counted)):
                n = seen[:t].count(WORDS.index(word))
                check("arriving-chart", name, beta(alpha + n, 5 * alpha + t - n).pdf)
            assert mark(page, "arriving-chart") == pytest.approx(page.numbers()["posterior mean"], rel=1e-4)
        page.to(f"scene=add-one&alpha={alpha}&word=money")
        check("mean-chart", "now", beta(alpha + 13, 5 * alpha + 46).pdf)
        ridge = curves(page, "mode-chart")["now"]
        a = spam + alpha + 1
        others = np.delete(a - 1, 1) / np.delete(a - 1, 1).sum()
        inside = ridge[(ridge[:, 0] > 0.01) & (ridge[:, 0] < 0.99) & (ridge[:, 1] > 0.05 * ridge[:, 1].max())]
        joint = [dirichlet(a).logpdf(np.insert((1 - p) * others, 1, p)) for p in inside[:, 0]]
        off = np.log(inside[:, 1]) - joint
        assert np.ptp(off) < 1e-2
        assert mark(page, "mode-chart") == pytest.approx(inside[np.argmax(inside[:, 1]), 0], abs=0.01)
        assert mark(page, "mode-chart") == pytest.approx(mark(page, "mean-chart"), rel=1e-4)
        widths = page("return [...document.querySelectorAll('#shares > div')].map(e => parseFloat(e.style.width))")
        np.testing.assert_allclose(widths, 100 * (spam + alpha) / (59 + 6 * alpha), rtol=1e-5)
        page.to(f"scene=play&alpha={alpha}&word=money")
        check("play-chart", "prior", beta(alpha, 5 * alpha).pdf)
        for name, n, total in (("ham", 4, 50), ("spam", 13, 59)):
            check("play-chart", name, beta(alpha + n, 5 * alpha + total - n).pdf)
        page.to(f"scene=twice&alpha={alpha}&word=wrote&times=3")
        nb = fitted(State(), alpha)
        for name, estimate in (("plug", "mean"), ("now", "predictive")):
            k = np.arange(7)[:, None] * np.eye(6)[[WORDS.index("wrote")]]
            log = nb.set_params(estimate=estimate).predict_joint_log_proba(k)
            truth = (log[:, 1] - log[:, 0]) / np.log(10)
            np.testing.assert_allclose(
                curves(page, "twice-chart")[name], np.column_stack([np.arange(7), truth]), atol=1e-4
            )


@pytest.mark.browser
def test_the_triangle_shows_the_density_and_its_points(page: Page) -> None:
    script = (
        "const c = document.querySelector('#heat'), copy = new OffscreenCanvas(c.width, c.height).getContext('2d');"
        "copy.drawImage(c, 0, 0); const d = copy.getImageData(0, 0, c.width, c.height).data;"
        "return [c.width, c.height, [...d].filter((_, k) => k % 4 === 3)]"
    )
    for alpha, counts in ((1, (6, 2, 0)), (2, (0, 0, 0)), (0.5, (3, 1, 9)), (5, (30, 10, 20))):
        page.to(address("simplex", settings(alpha=alpha, counts=counts)))
        width, height, strength = page(script)
        top, right = 1 - (np.arange(height) + 0.5) / height, (np.arange(width) + 0.5) / width
        p = np.stack(np.broadcast_arrays(1 - top[:, None] / 2 - right, right - top[:, None] / 2, top[:, None]))
        inside = (p > 0).all(0)
        density = np.zeros((height, width))
        density[inside] = dirichlet(np.array(counts) + alpha).pdf(p[:, inside] / p[:, inside].sum(0))
        np.testing.assert_allclose(np.reshape(strength, (height, width)), 255 * density / density.max(), atol=0.5001)
        shown = page.numbers()
        for dot, name in (("#simplex-mean", "mean"), ("#simplex-map", "map"), ("#handle", "mle")):
            _, right, up = (shown[f"{word} {name}"] for word in ("free", "money", "thanks"))
            if sum(counts) or name != "mle":
                at = page(f"const s = document.querySelector('{dot}').style; return [s.left, s.top].map(parseFloat)")
                assert at == pytest.approx([100 * (right + up / 2), 100 * (1 - up)], abs=1e-3), dot


# --- hands, eyes and ears -------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_it_works_by_keyboard(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    def focused() -> str:
        """What has the focus: it shows, and the slider above does not cover it."""
        element = page.driver.switch_to.active_element
        style = page("const s = getComputedStyle(document.activeElement); return [s.outlineStyle, s.outlineWidth]")
        assert style == ["solid", "3px"], element.accessible_name
        box = "const e = document.activeElement, r = e.getBoundingClientRect();"
        assert page(box + "return document.elementFromPoint(r.left + r.width / 2, r.top + 4) === e")
        return element.get_attribute("id") or element.text

    page.press(Keys.TAB)
    assert focused().split() == ["7", "Free", "play"]  # the address has led to it
    page.press(Keys.TAB)
    assert focused() == "alpha"
    for key, alpha in ((Keys.RIGHT, 1.12), (Keys.LEFT, 1), (Keys.HOME, 0.001), (Keys.END, 1000)):
        before = page.numbers()
        page.press(key)
        assert page.alpha == alpha
        assert page.numbers() != before
    order = []
    for _ in range(25):
        page.press(Keys.TAB)
        order.append(focused())
    counts = [f"count-{c}-{j}" for j in range(6) for c in range(2)]
    buttons = ["α → 0", "α = 1", "α = 2", "α = 1000", "Repeat a word", "Counts × 10"]
    words = ["messages-0", "messages-1", *counts, "tenfold", "reset"]
    assert order == ["message", *buttons, *words, "play-word", "All numbers as a table"]
    back = []
    for _ in range(6):
        page.press(Keys.SHIFT, Keys.TAB)
        back.append(focused())
    assert back == order[-2:-8:-1]
    assert back[-1] == "count-1-4"
    page.press("7")  # a field that is reached by tab is selected
    page("document.querySelector('#message').focus()")
    page.press(Keys.CONTROL, Keys.END)
    page.press(" wrote")
    state = State(60, counts=(State().counts[0], (38, 13, 6, 2, 7, 0)), text=f"{State().text} wrote")
    truth, shown = expected(state, 1000), page.numbers()
    for key, value in truth.items():
        assert abs(shown[key] - value) <= TOLERANCE, key
    page("document.querySelectorAll('ol button')[1].focus()")
    page.press(Keys.SPACE)
    assert page.alpha == 1
    page("document.querySelector('summary').focus()")
    page.press(Keys.ENTER)
    assert page.find("#words-table").is_displayed()


@pytest.mark.browser
def test_what_is_no_count_changes_nothing(page: Page) -> None:
    before = page.numbers()
    for selector, values in (("#count-0-0", ["", "-1", "1.5", "100001"]), ("#messages-1", ["", "0", "-3", "2.5"])):
        field, held = page.find(selector), page.find(selector).get_attribute("value")
        for value in values:
            page.put(selector, value)
            assert field.get_attribute("aria-invalid") == "true"
            assert "a whole number from" in field.get_attribute("title")
            assert page.numbers() == before
            page(f"document.querySelector('{selector}').dispatchEvent(new Event('change'))")  # the field is left
            assert field.get_attribute("value") == held
            assert field.get_attribute("aria-invalid") == "false"
        page.put(selector, 3)
        assert page.numbers() != before
        page.find("#reset").click()


@pytest.mark.browser
def test_everything_has_a_name_and_the_result_is_said(page: Page) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    for scene in SCENES:
        page.to(f"scene={scene}")
        page("document.querySelector('details').open = true")
        fields = page.driver.find_elements("css selector", "a, input, textarea, select, button, [role=region], summary")
        names = [field.accessible_name for field in fields if field.is_displayed()]
        assert all(names)
        if scene != "play":
            assert len(set(names)) == len(names)
            headings = page("return [...document.querySelectorAll('h1, h2')].filter(e => e.checkVisibility()).length")
            assert headings == 2
    assert names.count("Counts × 10") == 2  # the second is the first again
    assert names.count("All numbers as a table") == 2  # what opens it, and the table
    assert len(set(names)) == len(names) - 2
    assert {"α", "ham messages", "count of thanks in spam", "Is this message spam?"} <= set(names)
    page.put("#alpha", 6)
    sentence = "α = 2: spam with probability {}, 90 % interval {} to {}"
    texts = {key: text for key, _, text in page.shown()}
    sentence = sentence.format(*(texts[f"spam {name}"] for name in ("predictive", "5%", "95%")))
    status = page.find("[role=status]")
    WebDriverWait(page.driver, 5).until(lambda _: status.get_attribute("textContent") == sentence)
    headings = page(
        "return [...document.querySelectorAll('h1, h2')].filter(e => e.checkVisibility()).map(e => e.tagName)"
    )
    assert headings == ["H1", "H2", "H2", "H2", "H2"]


CONTRAST = """
const channels = colour => (colour.match(/[\\d.]+/g) ?? []).map(Number);
const luminance = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((total, v, k) => total + v * [0.2126, 0.7152, 0.0722][k], 0);
const ground = e => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor);
  if (c.length === 3) return c; } return [255, 255, 255]; };
return [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && ![...e.children].length
    && (e.textContent.trim() || e.value) && !e.closest('script, .hidden, [type=range]'))
  .map(e => { const [a, b] = [luminance(channels(getComputedStyle(e).color)), luminance(ground(e))].sort();
    return [e.textContent || e.id, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; });
"""


def readable(page: Page, width: int, least: int) -> None:
    """What can be read now: nothing too wide, nothing broken, nothing pale."""
    across = page("const e = document.documentElement; return [e.scrollWidth, e.clientWidth, innerWidth]")
    assert across[0] == across[1] <= across[2] == width
    beyond = page(
        "return [...document.querySelectorAll("
        "'section > :not(details, .hidden), .word > *, .row > span, .answer > *, .stage > div > *, .three > *')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth && !e.matches('.chart')).map(e => e.outerHTML)"
    )
    assert beyond == []
    broken = page(
        "return [...document.querySelectorAll('button, .number, .word label, strong, #axis span, .ticks span, td > b')]"
        ".filter(e => { const range = document.createRange(); range.selectNodeContents(e);"
        "  return new Set([...range.getClientRects()].map(r => Math.round(r.bottom / 8))).size > 1; })"
        ".map(e => e.outerHTML)"
    )
    assert broken == []
    contrasts = page(CONTRAST)
    assert len(contrasts) > least
    assert [pair for pair in contrasts if pair[1] < 4.5] == []


EXTREME = [
    "scene=zero",
    "scene=zero&message=" + "+".join([*WORDS, *WORDS * 7, "thanks", "Donaudampfschifffahrtsgesellschaft"]),
    *(f"scene={scene}&alpha={alpha}" for scene in SCENES[1:-1] for alpha in (0.001, 0.0355, 1, 1000)),
    "scene=arriving&counted=59&word=business",
    "scene=twice&word=wrote&times=6&alpha=0.001",
    "scene=simplex&counts=20,20,20",
]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_can_be_read(page: Page, width: int, scheme: str) -> None:
    """No scrolling sideways, nothing cut off by its panel, and a contrast of 4.5 (WCAG 2.2, 1.4.3)."""
    page.open(width, 844, scheme)
    page("document.querySelector('details').open = true")
    for state in (State(), State(-60), State(60, text="free money " * 90 + "Donaudampfschifffahrtsgesellschaft" * 9)):
        page.set(state)
        readable(page, width, 100)
    for address in EXTREME:
        page.to(address)
        readable(page, width, 20)
    page.to("scene=play")
    background = page("return getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(18, 21, 25)") == (scheme == "dark")
    page.find("#alpha").send_keys("")  # the slider stays in sight
    page("window.scrollTo(0, document.body.scrollHeight)")
    assert page("return document.querySelector('#alpha').getBoundingClientRect().top") < 100


@pytest.mark.browser
def test_motion_only_where_it_is_wanted(page: Page) -> None:
    durations = (
        "return ['.bar', '.band', '.dot'].map(s => getComputedStyle(document.querySelector(s)).transitionDuration)"
    )
    assert page(durations) == ["0s"] * 3
    motion = {"features": [{"name": "prefers-reduced-motion", "value": "no-preference"}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", motion)
    assert page(durations) == ["0.12s, 0.12s", "0.12s, 0.12s", "0.12s"]


def ring(page: Page) -> tuple[float, float]:
    """The middle of the ring on the screen."""
    box = page("return document.querySelector('#handle').getBoundingClientRect().toJSON()")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.browser
def test_the_ring_is_dragged_by_mouse_finger_and_keys(page: Page) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def counts() -> list[int]:
        return page("return state.simplex.counts[0]")

    def near(truth: tuple[float, ...]) -> bool:
        """The counts are these shares of eight words, rounded."""
        return sum(counts()) == 8 and bool(np.abs(np.array(counts()) - 8 * np.array(truth)).max() < 1)

    page.open(1280, 900, address="scene=simplex")
    box = page("return document.querySelector('#triangle').getBoundingClientRect().toJSON()")
    drag = ActionChains(page.driver, 0).click_and_hold(page.find("#handle"))
    drag.move_by_offset(int(box["width"] / 4), -int(box["height"] / 2)).perform()  # from (6, 2, 0) / 8
    assert near((0.25, 0.25, 0.5))
    drag.reset_actions()
    ActionChains(page.driver, 0).release().perform()
    assert page("return document.activeElement.id") == "handle"
    held = counts()
    ActionChains(page.driver, 0).move_by_offset(60, 60).perform()  # no button is held
    assert counts() == held
    page.put("#total", 30)
    assert sum(counts()) == 30
    page.put("#total", 8)
    assert counts() == held  # the ring has kept its place
    corner = int(box["width"] / 2) - 9, int(box["height"] / 2) - 3
    ActionChains(page.driver, 0).move_to_element_with_offset(page.find("#triangle"), *corner).click().perform()
    assert counts() == [0, 8, 0]

    page.open(address="scene=simplex")
    handle = page.find("#handle")
    page("document.querySelector('#handle').focus()")
    keys = Keys.UP, Keys.RIGHT, Keys.LEFT, Keys.DOWN, Keys.DOWN
    for key, after in zip(keys, ([5, 2, 1], [4, 3, 1], [5, 2, 1], [5, 3, 0], [5, 3, 0]), strict=True):
        page.press(key)
        assert counts() == after
        spoken = ", ".join(f"{w} {n}" for w, n in zip(("free", "money", "thanks"), after, strict=True))
        assert handle.get_attribute("aria-valuetext") == spoken
    shown = page.numbers()
    assert shown["thanks mean"] == pytest.approx(1 / 11)
    page.press("x")
    assert page.numbers() == shown

    page.open(390, 844, address="scene=simplex")
    page("document.querySelector('#triangle').scrollIntoView({block: 'center'})")
    box = page("return document.querySelector('#triangle').getBoundingClientRect().toJSON()")
    x, y = ring(page)

    def touch(kind: str, *at: float) -> None:
        points = [{"x": at[0], "y": at[1]}] if at else []
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    touch("Start", x, y)
    for part in (0.2, 0.6, 1.0):
        touch("Move", x + part * box["width"] / 4, y - part * box["height"] / 2)
    touch("End")
    assert near((0.25, 0.25, 0.5))
    tap = {"x": box["x"] + box["width"] - 12, "y": box["y"] + box["height"] - 4, "gestureSourceType": "touch"}
    page.driver.execute_cdp_cmd("Input.synthesizeTapGesture", tap)
    assert counts() == [0, 8, 0]


@pytest.mark.browser
def test_back_next_and_the_list_lead_through_the_scenes(page: Page) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    page.open(address="")
    questions = []
    for k, scene in enumerate(SCENES):
        visible = page(
            "return [...document.querySelectorAll('.scene')].filter(e => e.checkVisibility()).map(e => e.id)"
        )
        assert visible == [scene]
        current = page.driver.find_elements("css selector", ".progress [aria-current=step]")
        assert [link.get_attribute("hash") for link in current] == [f"#scene={scene}"]
        assert page.find("#where").text == f"{k + 1} of 7"
        questions.append(page(f"return document.querySelector('#{scene} h2').textContent.trim()"))
        assert page.find("#back").is_enabled() == (k > 0)
        if scene != "play":
            page.find("#next").click()
            WebDriverWait(page.driver, 5).until(lambda _, k=k: page("return scene") == SCENES[k + 1])
            assert page("return document.activeElement === document.querySelector(`#${scene} h2`)")
    assert not page.find("#next").is_enabled()
    assert all(question.endswith("?") for question in questions)
    page.find("#back").click()
    page.find(".progress li:nth-child(2) a").click()
    WebDriverWait(page.driver, 5).until(lambda _: page("return scene") == "prior")
    page.driver.back()
    WebDriverWait(page.driver, 5).until(lambda _: page("return scene") == "simplex")


@pytest.mark.browser
def test_the_address_holds_what_was_set(page: Page) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    state = State(
        6, counts=((1, 2, 3, 4, 5, 6), (0, 100, 0, 3, 0, 100_000)), messages=(7, 9), text="50 % free; a&b=c +wrote\n#1"
    )
    page.set(state)
    before = page.numbers()
    WebDriverWait(page.driver, 5).until(lambda _: "wrote" in page("return location.hash"))
    where = page("return location.hash")
    assert "alpha=2&counts=1,2,3,4,5,6;0,100,0,3,0,100000&mails=7,9&message=" in where
    page.open(address=where[1:])
    assert page.numbers() == before
    assert page.find("#message").get_attribute("value") == state.text
    assert page.find("#count-1-5").get_attribute("value") == "100000"
    page.to("scene=simplex&alpha=0.5&counts=1,2,3")
    page("document.querySelector('.progress li:nth-child(7) a').click()")
    WebDriverWait(page.driver, 5).until(lambda _: page("return scene") == "play")
    assert page.numbers() == before  # what was set elsewhere is kept
    page("document.querySelector('#reset').click()")
    begun = page.numbers()
    nonsense = (
        "alpha=0&counts=1,2;3&mails=0,1&message",
        "alpha=-1&counts=a,b&mails=1&word=zzz",
        "alpha=1e9&counts=&toString=1",
    )
    for text in nonsense:
        page.open(address=f"scene=play&{text}")
        empty = text.endswith("message")
        page.put("#message", State().text if empty else page.find("#message").get_attribute("value"))
        assert page.numbers() == begun
    for text in ("scene=nowhere", "%%%", "words-title", "scene=zero&message=" + State().text):
        page.open(address=text)
        assert page("return scene") == "zero"
        assert page.numbers()["spam mle"] < 1e-16
    for address_, counts in (("counts=61,0,0", [6, 2, 0]), ("counts=60,0,0", [60, 0, 0]), ("counts=1,1", [6, 2, 0])):
        page.open(address=f"scene=simplex&{address_}")
        assert page("return state.simplex.counts[0]") == counts


@pytest.mark.browser
def test_presets_lead_where_their_labels_say(page: Page) -> None:
    """Each changes something or is how the scene begins, and none leaves the range of its settings."""
    for scene in SCENES:
        page.to(f"scene={scene}")
        for k in range(page("return document.querySelectorAll(`#${scene} [data-set]`).length")):
            text = page(f"return document.querySelectorAll(`#${{scene}} [data-set]`)[{k}].dataset.set")
            page(f"document.querySelectorAll(`#${{scene}} [data-set]`)[{k}].click()")
            for key, value in (pair.split("=") for pair in text.split("&")):
                assert page("return write(arguments[0], state[scene][arguments[0]])", key) == value.replace("+", " ")
    page.to("scene=arriving&counted=58")
    page.find("#count-next").click()
    assert page("return state.arriving.counted") == 59
    assert not page.find("#count-next").is_enabled()


@pytest.mark.browser
@pytest.mark.parametrize("scene", ["zero", "play"])
def test_message_and_answer_are_seen_together_on_a_phone(page: Page, scene: str) -> None:
    page.open(390, 844, address=f"scene={scene}")
    field, answer = ("#zero-message", "#zero-answer") if scene == "zero" else ("#message", "#answer-interval")
    for selector in (field, answer):
        box = page(f"return document.querySelector('{selector}').getBoundingClientRect().toJSON()")
        over = page("return document.elementFromPoint(arguments[0], arguments[1]).id", box["x"] + 9, box["bottom"] - 6)
        assert box["top"] > 0
        assert f"#{over}" == selector or scene == "play"
        assert box["bottom"] < 760


@pytest.mark.browser
def test_an_interval_whose_ends_print_alike_is_explained(page: Page) -> None:
    assert page.find("#interval-note").text == ""
    for text, position, ends in (("thanks wrote", -60, "0 to 0"), ("business", -60, "1 to 1"), ("thanks", 60, "0.")):
        page.set(State(position, text=text))
        shown = page.find("#answer-interval").text
        low, high = shown.split(" to ")
        note = page.find("#interval-note").text
        if low == high:
            assert f"“{shown}” is no empty interval." in note
        else:
            assert note == ""
        assert shown.startswith(ends)


# --- without a browser ----------------------------------------------------------------------------------------------


def test_it_starts_from_the_librarys_data() -> None:
    """`python docs/make_dirichlet_smoothing.py` has been run, and would change nothing."""
    assert runpy.run_path(str(DOCS / "make_dirichlet_smoothing.py"))["start"]() == start()
    assert sum(count == 0 for row in start()["counts"] for count in row) >= 3  # there is something to smooth


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    text = PAGE.read_text("utf-8")
    assert "default-src 'none'" in text
    assert not any(
        name in text for name in ("http:", "https:", "@import", "fetch(", "XMLHttpRequest", '<link rel="style')
    )


def test_the_pages_it_links_to_are_there() -> None:
    text = PAGE.read_text("utf-8")
    pages = {target for target in re.findall(r'href="([^"#]+\.html)"', text)}
    assert "index.html" in pages
    assert all((DOCS / target).with_suffix(".md").exists() for target in pages)


def test_five_minutes_answers_the_questions_of_the_scenes() -> None:
    """The page asks in the words of the scenes, in their order, and answers each."""
    text = (DOCS / "smoothing_in_five_minutes.md").read_text("utf-8")
    page = PAGE.read_text("utf-8")
    questions = [re.sub(r"<.*?>", "", q) for q in re.findall(r'<h2 id="[a-z-]+-title" tabindex="-1">(.*?)</h2>', page)]
    assert len(questions) == 6
    found = [heading.partition(". ")[2] for heading in re.findall(r"^## (\d\. .*)$", text, re.MULTILINE)]
    assert found == questions
    assert re.findall(r"#scene=([a-z-]+)\)", text) == list(SCENES)


@pytest.mark.browser
def test_five_minutes_quotes_what_the_scenes_show(page: Page) -> None:
    text = (DOCS / "smoothing_in_five_minutes.md").read_text("utf-8")
    for section in text.split("\n## ")[1:7]:
        (scene,) = re.findall(r"#scene=([a-z-]+)\)", section)
        page.to(f"scene={scene}")
        shown = {shown.removeprefix("×\N{NO-BREAK SPACE}") for _, _, shown in page.shown()}
        quoted = set(re.findall(r"\b\d\.\d{2,3}\b", section))
        assert quoted <= shown, scene
        assert quoted or scene == "zero"
