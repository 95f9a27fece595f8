"""The words of a label that is written in HTML, as Mermaid and Graphviz have them."""

from __future__ import annotations

from html.parser import HTMLParser

_LINES = frozenset({"br", "div", "hr", "li", "p", "table", "tr"})
_CELLS = frozenset({"td", "th"})
_WORDS_ONLY = (
    _LINES | _CELLS | {"b", "em", "font", "i", "o", "s", "small", "span", "strong", "sub", "sup", "u", "ul"}
)


class _Words(HTMLParser):
    """Collects the text. What is small stands in backticks on a line of its own: so our own charts write a tool."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.lost: dict[str, None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._between(tag)
        if tag not in _WORDS_ONLY:
            self.lost[tag] = None
        if tag == "small":
            self.parts.append("`")

    def handle_endtag(self, tag: str) -> None:
        if tag == "small":
            self.parts.append("`")
        elif tag != "br":
            self._between(tag)

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def _between(self, tag: str) -> None:
        if tag in _LINES:
            self.parts.append("\n")
        elif tag in _CELLS:
            self.parts.append(" ")


def words_of_html(html: str) -> tuple[str, tuple[str, ...]]:
    """The words of a label, a line for each line that it shows, and the tags whose meaning words cannot keep."""
    reader = _Words()
    try:
        reader.feed(html)
        reader.close()
    except AssertionError:  # what the standard library raises for some declarations, such as `<![x`
        return " ".join(html.split()), ("!",)
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line for line in lines if line), tuple(reader.lost)


def one_line(words: str) -> str:
    """`words` on one line, as labels show them; what no text holds is a replacement character."""
    return " ".join(words.split()).replace("\0", "\N{REPLACEMENT CHARACTER}")
