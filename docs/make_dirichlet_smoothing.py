"""Write into docs/dirichlet_smoothing.html what it starts from: counts of six words in the first mails of the corpus.

Run it from anywhere; it changes nothing but the JSON element of the page.
"""

import json
import re
from pathlib import Path

import numpy as np

from bayesnb.datasets import load_spam

PAGE = Path(__file__).with_name("dirichlet_smoothing.html")
WORDS = ["free", "money", "business", "think", "thanks", "wrote"]  # two of them never in these spams, one never in ham
MAILS = {"easy-ham-1": 40, "spam-1": 20}
ELEMENT = re.compile(r'(<script type="application/json" id="data">\n).*?(</script>)', re.DOTALL)


def start() -> dict[str, object]:
    """Words, their counts by class (ham, spam), numbers of messages, and where they come from."""
    mails = load_spam()
    columns = [int(np.flatnonzero(mails.vocabulary == word)[0]) for word in WORDS]
    firsts = [np.flatnonzero(mails.folder == folder)[:n] for folder, n in MAILS.items()]
    counts = [mails.X[rows][:, columns].sum(0).tolist() for rows in firsts]
    source = "Counted in 40 ham and 20 spam mails, the first of the Apache SpamAssassin public corpus."
    return {"words": WORDS, "messages": [*MAILS.values()], "counts": counts, "source": source}


def main() -> None:
    """Write the page."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in start().items())
    page = PAGE.read_text("utf-8")
    PAGE.write_text(ELEMENT.sub(lambda found: f"{found[1]}{{\n{lines}\n}}\n{found[2]}", page), "utf-8")


if __name__ == "__main__":
    main()
