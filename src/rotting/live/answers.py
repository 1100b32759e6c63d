"""The last answers of decisions that are closed: what a second reward is compared with.

They are kept in pages that are filled one after the other and dropped as a whole, so that neither to keep one more nor to take
a copy takes long. Only a second reward looks through the pages.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice

_PAGE = 256  # answers

Answer = float | None
"""The reward of a decision; None if it ended without."""


class Answers:
    """The answers of the last `most` decisions, by their ids."""

    def __init__(self, most: int, answers: Iterable[tuple[str, Answer]] = ()) -> None:
        self._most = most
        self._pages: deque[dict[str, Answer]] = deque([{}])  # oldest first; all but the last are full, and change no more
        self._page = self._pages[-1]
        for id, answer in answers:  # noqa: A001 - what decisions call it
            self.add(id, answer)

    def add(self, id: str, answer: Answer) -> None:  # noqa: A002
        """Keep the answer of an id, which has none yet."""
        page = self._page
        page[id] = answer
        if len(page) == _PAGE:
            self._turn_the_page()

    def _turn_the_page(self) -> None:
        self._page = {}
        self._pages.append(self._page)
        if self._too_many >= _PAGE:
            self._pages.popleft()

    @property
    def _too_many(self) -> int:
        """How many of the oldest are not kept any more, though their pages are."""
        return max(0, (len(self._pages) - 1) * _PAGE + len(self._page) - self._most)

    def __len__(self) -> int:
        return (len(self._pages) - 1) * _PAGE + len(self._page) - self._too_many

    def __iter__(self) -> Iterator[tuple[str, Answer]]:
        """Yield ids and answers, oldest first."""
        return islice(chain.from_iterable(page.items() for page in self._pages), self._too_many, None)

    def find(self, id: str) -> tuple[Answer] | None:  # noqa: A002
        """Return the answer of an id, in a tuple, or None if it is not known."""
        given_up = self._too_many
        for page in self._pages:
            if id in page:
                return None if id in islice(page, given_up) else (page[id],)
            given_up = max(0, given_up - len(page))
        return None

    def copy(self) -> "Answers":
        """Return an independent copy."""
        twin = Answers(self._most)
        twin._pages = self._pages.copy()
        twin._page = twin._pages[-1] = self._page.copy()
        return twin
