"""docs/dirichlet_smoothing.html, driven in headless Chromium: every number it shows is the library's."""

import json
import runpy
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
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

    def open(self, width: int = 1280, height: int = 800, scheme: str = "light") -> None:
        """A fresh copy, without motion."""
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        media = [{"name": name, "value": value} for name, value in features.items()]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get(PAGE.as_uri())

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
            "return [...document.querySelectorAll('[data-key]')]"
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
    assert page("return counts") == [[10 * n for n in row] for row in State().counts]
    page.find("#reset").click()
    assert page.numbers() == laplace


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
    assert focused() == "alpha"
    for key, alpha in ((Keys.RIGHT, 1.12), (Keys.LEFT, 1), (Keys.HOME, 0.001), (Keys.END, 1000)):
        before = page.numbers()
        page.press(key)
        assert page.alpha == alpha
        assert page.numbers() != before
    order = []
    for _ in range(24):
        page.press(Keys.TAB)
        order.append(focused())
    counts = [f"count-{c}-{j}" for j in range(6) for c in range(2)]
    buttons = ["α → 0", "α = 1", "α = 2", "α = 1000", "Repeat a word", "Counts × 10"]
    words = ["messages-0", "messages-1", *counts, "tenfold", "reset"]
    assert order == [*words, "message", *buttons, "All numbers as a table"]
    back = []
    for _ in range(12):
        page.press(Keys.SHIFT, Keys.TAB)
        back.append(focused())
    assert back == order[-2:-14:-1]
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

    page("document.querySelector('details').open = true")
    fields = page.driver.find_elements("css selector", "input, textarea, button, [role=region], summary")
    names = [field.accessible_name for field in fields]
    assert all(names)
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
    headings = page("return [...document.querySelectorAll('h1, h2')].map(e => e.tagName)")
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


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_can_be_read(page: Page, width: int, scheme: str) -> None:
    """No scrolling sideways, nothing cut off by its panel, and a contrast of 4.5 (WCAG 2.2, 1.4.3)."""
    page.open(width, 844, scheme)
    page("document.querySelector('details').open = true")
    for state in (State(), State(-60), State(60, text="free money " * 90 + "Donaudampfschifffahrtsgesellschaft" * 9)):
        page.set(state)
        across = page("const e = document.documentElement; return [e.scrollWidth, e.clientWidth, innerWidth]")
        assert across[0] == across[1] <= across[2] == width
        beyond = page(
            "return [...document.querySelectorAll("
            "'section > :not(details, .hidden), .word > *, .row > span, .answer > *')]"
            ".filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map(e => e.outerHTML)"
        )
        assert beyond == []
        broken = page(
            "return [...document.querySelectorAll('button, .number, .word label, strong, #axis span, .ticks span, td')]"
            ".filter(e => { const range = document.createRange(); range.selectNodeContents(e);"
            "  return new Set([...range.getClientRects()].map(r => Math.round(r.bottom / 8))).size > 1; })"
            ".map(e => e.outerHTML)"
        )
        assert broken == []
        contrasts = page(CONTRAST)
        assert len(contrasts) > 100
        assert [pair for pair in contrasts if pair[1] < 4.5] == []
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
