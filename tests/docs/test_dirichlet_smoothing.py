"""docs/dirichlet_smoothing.html, driven in headless Chromium: every number it shows is the library's."""

import json
import re
import runpy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import loggamma, logit
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
            warnings.filterwarnings("ignore", "the posterior mode ")
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


# Ends when the page has heard of the new address: its listener is older than this one, and so is called before it.
_GO_TO = """
const [address, done] = arguments
if (location.hash === "#" + address) { done(); return }
addEventListener("hashchange", () => setTimeout(done), {once: true})
location.hash = address
"""


class Page:
    """The page in a browser: what a reader does, and what there is to read."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def __call__(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def open(self, width: int = 1280, height: int = 800, address: str = "scene=play") -> None:
        """A fresh copy, without motion."""
        features = {"prefers-color-scheme": "light", "prefers-reduced-motion": "reduce"}
        media = [{"name": name, "value": value} for name, value in features.items()]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get("about:blank")
        self.driver.get(f"{PAGE.as_uri()}#{address}")

    def to(self, address: str) -> None:
        """Another scene of the same copy."""
        self.driver.execute_async_script(_GO_TO, address)
        assert self("return scene") == address.partition("&")[0].removeprefix("scene=")

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def put(self, selector: str, value: Any) -> None:
        """A field as if typed."""
        typed = "field.value = arguments[1]; field.dispatchEvent(new Event('input', {bubbles: true}))"
        self(f"const field = document.querySelector(arguments[0]); {typed}", selector, str(value))

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


CASES = {
    "as it starts": State(),
    "only words it has not counted": State(5, text="Dear colleague, 你好"),
    "both excluded": State(-60, text="business thanks wrote business"),
    "no word seen at all": State(counts=((0,) * 6,) * 2, messages=(1, 1)),
    "largest counts": State(0, counts=((100_000,) * 6,) * 2, messages=(100_000, 100_000)),
    "a long message": State(3, text="free money " * 90 + "thanks"),
    **{f"random, slider at {k}": random_state(k) for k in range(-60, 61, 20)},
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
    # the note says when the library would warn
    boundary = nb.posterior_.blocks["x"].on_boundary()
    note = page.find("#words-note").text
    assert ("at most 1" in note) == boundary
    assert ("0/0" in note) == any(sum(counts) == 0 for counts in state.counts)


# --- the scenes -----------------------------------------------------------------------------------------------------


def scene_numbers(page: Page, scene: str, said: dict[str, Any]) -> dict[str, float]:
    """What the library says to the numbers of a scene with these settings."""
    alpha, word = said.get("alpha", 1.0), said.get("word", "free")
    ham, spam = State().counts
    j = WORDS.index(word)
    if scene == "arriving":
        sequence = page("return SEQUENCE")
        assert np.bincount(sequence, minlength=6).tolist() == list(spam)
        spam = tuple(np.bincount(sequence[: said["counted"]], minlength=6).tolist())
    state = State(counts=(ham, spam), text=" ".join([word] * said.get("times", 0)))
    nb = fitted(state, alpha)
    block, one = nb.posterior_.blocks["x"], np.eye(6)[[j]]
    found: dict[str, float] = {}
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


SETTINGS = [
    *(("prior", {"alpha": alpha}) for alpha in (0.001, 1, 3.55)),
    *(("arriving", {"alpha": alpha, "word": w, "counted": t}) for alpha, w, t in [(1, "free", 4), (0.5, "think", 31)]),
    *(("add-one", {"alpha": alpha, "word": word}) for alpha, word in [(1, "thanks"), (7.1, "free")]),
    *(("twice", {"alpha": alpha, "word": w, "times": k}) for alpha, w, k in [(1, "business", 2), (0.001, "wrote", 6)]),
]


@pytest.mark.browser
@pytest.mark.parametrize(("scene", "said"), SETTINGS, ids=str)
def test_every_number_of_a_scene_is_the_librarys(page: Page, scene: str, said: dict[str, Any]) -> None:
    page.to("&".join([f"scene={scene}", *(f"{key}={value}" for key, value in said.items())]))
    truth, shown = scene_numbers(page, scene, said), page.numbers()
    assert shown.keys() == truth.keys()
    for key, value in truth.items():
        # the page's zero is none of the library's smallest numbers; an interval is as exact as its root
        assert shown[key] == pytest.approx(value, rel=1e-9, abs=TOLERANCE if "%" in key else 1e-300), key
    for key, value, text in page.shown():
        if re.fullmatch(r"[\d.]+", text):
            assert float(text) == pytest.approx(value, rel=0.006, abs=0.0005), key
        else:
            assert re.fullmatch(r"×?\s?[\d.]+ × 10⁻[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[×<>]\s?[\d.]+(e[+-]\d+)?", text), (key, text)
    if scene == "add-one":
        assert len({text for _, _, text in page.shown()}) == 1
        np.testing.assert_allclose(list(shown.values()), next(iter(shown.values())), rtol=1e-12)


# --- hands, eyes and ears -------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_it_works_by_keyboard(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    def press(*keys: str) -> None:
        page.driver.switch_to.active_element.send_keys(*keys)

    press(Keys.TAB, Keys.TAB)  # the address has led to the scene
    for key, alpha in ((Keys.RIGHT, 1.12), (Keys.LEFT, 1), (Keys.HOME, 0.001), (Keys.END, 1000)):
        press(key)
        assert page.alpha == alpha
    page.open(address="scene=simplex")
    page("document.querySelector('#handle').focus()")
    for key, after in ((Keys.UP, [5, 2, 1]), (Keys.RIGHT, [4, 3, 1]), (Keys.LEFT, [5, 2, 1]), (Keys.DOWN, [5, 3, 0])):
        press(key)
        spoken = "free {}, money {}, thanks {}".format(*after)
        assert page("return state.simplex.counts[0]") == after
        assert page.find("#handle").get_attribute("aria-valuetext") == spoken
    assert page.numbers()["thanks mean"] == pytest.approx(1 / 11)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_everything_has_a_name_and_nothing_is_wider_than_the_screen(page: Page, width: int) -> None:
    page.open(width, 844)
    page.set(State(60, text="free money " * 90 + "Donaudampfschifffahrtsgesellschaft" * 9))
    for scene in SCENES:
        page.to(f"scene={scene}")
        page("document.querySelector('details').open = true")
        across = page("const e = document.documentElement; return [e.scrollWidth, e.clientWidth, innerWidth]")
        assert across[0] == across[1] <= across[2] == width
        fields = page.driver.find_elements("css selector", "a, input, textarea, select, button, [role=region], summary")
        names = [field.accessible_name for field in fields if field.is_displayed()]
        assert all(names) and (scene == "play" or len(set(names)) == len(names))


@pytest.mark.browser
def test_the_address_holds_what_was_set(page: Page) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    counts = (1, 2, 3, 4, 5, 6), (0, 100, 0, 3, 0, 100_000)
    state = State(6, counts=counts, messages=(7, 9), text="50 % free; a&b=c +wrote\n#1")
    page.set(state)
    before = page.numbers()
    WebDriverWait(page.driver, 5).until(lambda _: "wrote" in page("return location.hash"))
    where = page("return location.hash")
    assert "alpha=2&counts=1,2,3,4,5,6;0,100,0,3,0,100000&mails=7,9&message=" in where
    page.open(address=where[1:])
    assert page.numbers() == before
    page("document.querySelector('#reset').click()")
    begun = page.numbers()
    for nonsense in ("alpha=-1&counts=a,b&mails=1&word=zzz", "alpha=1e9&counts=&toString=1"):
        page.open(address=f"scene=play&{nonsense}")
        assert page.numbers() == begun
    page.open(address="%%%")
    assert page("return scene") == "zero"


# --- without a browser ----------------------------------------------------------------------------------------------


def test_it_starts_from_the_librarys_data() -> None:
    """`python docs/make_dirichlet_smoothing.py` has been run, and would change nothing."""
    assert runpy.run_path(str(DOCS / "make_dirichlet_smoothing.py"))["start"]() == start()


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    text = PAGE.read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"https?:|@import|fetch\(|XMLHttpRequest|<link rel=.style", text)


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
