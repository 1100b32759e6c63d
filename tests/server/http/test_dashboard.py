"""The dashboard in a real browser: a headless Chromium, driven by Playwright.

Where there is none these tests are skipped; with CI=true in the environment that is a failure.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rotting.server.http.tokens import new_token
from tests.helpers.browsers import chromium, colours, overflow
from tests.helpers.services import Client, Running, running, wear_out

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]
EVIL = "<img src=x onerror='window.escaped=1'>"
SONGS = {"policy": "eff-raw-ucb", "params": {"sigma": 0.2}, "arms": ["Golden Hour", "Harbour", EVIL]}
BANDIT = "/v1/bandits/songs"
DECISIONS = "document.querySelector('.tiles dd').textContent"


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as found:
        yield found


def play(client: Client, rounds: int, name: str = "songs", count: int = 1) -> list[Any]:
    """Decide and reward: the first arm fades."""
    made = []
    for k in range(rounds):
        made += client("POST", f"/v1/bandits/{name}/decisions", {"count": count}).body["decisions"]
        if k % 10:  # some wait
            fading = {"Golden Hour": max(0.1, 0.9 - made[-1]["round"] / 100)}
            paid = [{"id": each["id"], "reward": fading.get(each["arm"], 0.3)} for each in made[-count:]]
            client("POST", f"/v1/bandits/{name}/rewards", paid)
    return made


@pytest.fixture
def played(client: Client) -> Client:
    """A service with a bandit that has decided and learned."""
    assert client("PUT", BANDIT, SONGS).status == 201
    play(client, 120)
    return client


@pytest.fixture
def open_page(browser: "Browser", service: Running) -> Iterator[Open]:
    """Open the dashboard; whatever it complains of, or asks another host for, fails the test."""
    troubles: list[str] = []
    pages = []

    def opened(path: str = "/", width: int = 1440, height: int = 900, **settings: Any) -> "Page":
        page = browser.new_page(viewport={"width": width, "height": height}, **settings)
        pages.append(page)
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("request", lambda request: check_url(request.url))
        page.goto(f"http://127.0.0.1:{service.port}{path}")
        return page

    def check_url(url: str) -> None:
        if not url.startswith(f"http://127.0.0.1:{service.port}/"):
            troubles.append(f"request: {url}")

    yield opened
    for page in pages:
        page.close()
    assert troubles == []


def wait_until_drawn(page: "Page") -> "Page":
    """Wait until a bandit is drawn, and live."""
    page.locator("tbody tr").first.wait_for()
    page.locator("#live.on").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.layer').length > 0")
    return page


def test_it_shows_the_bandits_and_one_of_them(open_page: Open, played: Client) -> None:
    page = open_page()
    page.get_by_role("link", name="songs").click()
    wait_until_drawn(page)
    assert page.title() == "songs – rotting"
    assert page.evaluate(DECISIONS) == "120"
    assert "was chosen because it had the highest estimate at that moment" in page.locator(".why").inner_text()
    assert page.locator("tbody tr").count() == 3
    assert page.locator(".layer").count() >= 3
    assert page.locator(".band").count() >= 1
    assert page.locator(".multiples li").count() == 3
    first = page.locator("tbody tr").filter(has_text="Golden Hour")
    assert first.locator(".bar .has").count() == first.locator(".bar .may").count() == first.locator(".bar .tip").count() == 1


def test_one_decision_is_enough_to_be_drawn(open_page: Open, client: Client) -> None:
    client("PUT", BANDIT, SONGS)
    page = open_page("/#/songs")
    page.locator("tbody tr").first.wait_for()
    assert page.locator(".why").inner_text() == "No decision yet."
    assert page.locator("tbody tr", has_text="not tried yet").count() == 3
    client("POST", f"{BANDIT}/decisions")
    wait_until_drawn(page)
    assert page.locator(".chart").first.locator("text").all_text_contents()[-2:] == ["0 decisions", "1"]
    assert page.locator(".readout").all_inner_texts() == [
        "Decision 1: Golden Hour 100%",
        "Decision 1: no reward yet",
        "Decision 1: 0% settled, 100% pending, 0% lost",
    ]
    assert "every arm is tried before the others are compared" in page.locator(".why").inner_text()


def test_it_says_that_a_long_log_is_being_read(open_page: Open, played: Client) -> None:
    page, behind = open_page(), [1_000, 0]

    def reading(route: Any) -> None:
        fetched = route.fetch()
        history = fetched.json()
        history["behind"], history["last"]["reason"] = behind[0], None
        route.fulfill(response=fetched, json=history)

    page.route("**/history", reading)
    page.get_by_role("link", name="songs").click()
    page.locator(".notice", has_text="Reading the log: 1,000 events left.").wait_for()
    assert page.locator(".why").inner_text() == "The log is being read; the last decision is shown when that is done."
    behind.pop(0)
    page.locator(".why", has_text="In decision 120").wait_for()
    assert not page.locator(".notice").is_visible()
    page.unroute_all(behavior="wait")


def hint(page: "Page") -> str:
    return page.locator("section", has=page.locator("#arms")).locator(".hint").first.inner_text()


def test_a_decision_does_not_contradict_the_arms_shown_beside_it(open_page: Open, client: Client) -> None:
    client("PUT", BANDIT, {"policy": "ucb1", "params": {"sigma": 0.1}, "arms": ["a", "b"]})
    for arm, value in (("a", 0.5), ("b", 0.45)):
        (made,) = client("POST", f"{BANDIT}/decisions", {"arms": [arm]}).body["decisions"]
        client("POST", f"{BANDIT}/rewards", [{"id": made["id"], "reward": value}])
    page = wait_until_drawn(open_page("/#/songs"))
    assert "ending decisions" not in page.locator(".why").inner_text() + hint(page)
    made = [client("POST", f"{BANDIT}/decisions").body["decisions"][0] for _ in range(3)]
    rows = {row["arm"]: row for row in client("GET", f"{BANDIT}/arms").body["arms"]}
    assert made[-1]["reason"]["index"] < min(row["index"] for row in rows.values())  # which nothing explained
    page.locator(".why", has_text="In decision 5,").wait_for()
    text = page.locator(".why").inner_text()
    assert f"{made[-1]['arm']} was chosen because it had the highest estimate at that moment" in text
    assert "Pending decisions were counted: they make an arm less uncertain." in text
    assert "Pending decisions are not counted in these estimates." in hint(page)
    assert "could pay" not in page.locator("main").inner_text()


def test_it_says_that_not_all_arms_could_be_chosen(open_page: Open, played: Client) -> None:
    page = wait_until_drawn(open_page("/#/songs"))
    note = "Not all arms could be chosen."
    assert note not in page.locator(".why").inner_text()
    played("POST", f"{BANDIT}/decisions", {"arms": ["Harbour"]})
    page.locator(".why", has_text="In decision 121").wait_for()
    assert note in page.locator(".why").inner_text()


def test_an_arm_that_waits_for_its_first_reward_was_tried(open_page: Open, client: Client) -> None:
    client("PUT", BANDIT, {"policy": "ucb1", "params": {"sigma": 5.0}, "arms": ["a", "b"]})
    made = [client("POST", f"{BANDIT}/decisions").body["decisions"][0] for _ in range(2)]
    client("POST", f"{BANDIT}/rewards", [{"id": made[0]["id"], "reward": 0.5}])
    for _ in range(3):
        client("POST", f"{BANDIT}/decisions", {"arms": ["a"]})
    (last,) = client("POST", f"{BANDIT}/decisions").body["decisions"]
    assert (last["arm"], last["reason"]["pulls"], last["reason"]["pending"]) == ("b", 0, 1)
    page = wait_until_drawn(open_page("/#/songs"))
    assert page.locator(".why").inner_text() == (
        "In decision 6, b was chosen while 1 earlier decision for it is pending: "
        "until one settles, it counts as an average arm."
    )


def test_a_policy_that_draws_has_no_highest_estimate(open_page: Open, client: Client) -> None:
    client("PUT", BANDIT, {**SONGS, "policy": "thompson-sampling", "params": {}})
    play(client, 20)
    page = wait_until_drawn(open_page("/#/songs"))
    assert "was drawn with a chance of" in page.locator(".why").inner_text()
    assert hint(page).startswith("The policy draws arms at random.")
    assert "highest estimate" not in page.locator(".why").inner_text() + hint(page)


BANDS = """async (given) => {
  const { prepared } = await import("/dashboard/history.js");
  const { length } = given.rewards, none = Array(length).fill(0);
  const rest = { rounds: length, width: 1, plays: given.rewards, lost: none, arms: [], others: 0, other_plays: none };
  const { low, high } = prepared({ ...rest, ...given }, 50);
  return [low, high];
}"""


def test_a_band_stays_where_rewards_can_be(open_page: Open) -> None:
    page = open_page()

    def bands(**given: Any) -> Any:
        return page.evaluate(BANDS, given)

    clicks = {"lowest_reward": 0, "highest_reward": 1, "binary": True}
    (none, one, every), highs = bands(rewards=[10, 18, 10], mean=[0, 1 / 18, 1], squares=[0, 17 / 18, 0], **clicks)
    assert (none, highs[2]) == (0, 1)
    square = 1.96**2
    assert (highs[0], every) == (pytest.approx(square / (10 + square)), pytest.approx(10 / (10 + square)))
    for end in (one, highs[1]):  # where a true rate has the observed one 1.96 standard deviations away
        assert (end - 1 / 18) ** 2 == pytest.approx(square * end * (1 - end) / 18)
    assert 0 < one < 1 / 18 < highs[1] < 1
    amounts: dict[str, Any] = {"rewards": [2], "mean": [5.0], "squares": [50.0], "binary": False}
    half = 1.96 * 5.0
    assert bands(**amounts, lowest_reward=None, highest_reward=None) == [[5.0 - half], [5.0 + half]]
    assert bands(**amounts, lowest_reward=0, highest_reward=None) == [[0], [5.0 + half]]
    assert bands(**amounts, lowest_reward=0, highest_reward=10) == [[0], [10]]
    assert bands(**amounts | {"rewards": [1]}, lowest_reward=0, highest_reward=10) == [[None], [None]]


def test_a_click_rate_is_never_drawn_below_zero(open_page: Open, client: Client) -> None:
    client("PUT", BANDIT, SONGS)
    for k in range(20):
        made = client("POST", f"{BANDIT}/decisions", {"count": 3}).body["decisions"]
        client("POST", f"{BANDIT}/rewards", [{"id": each["id"], "reward": float(k == 7)} for each in made[:2]])
    page = wait_until_drawn(open_page("/#/songs", 390))
    page.get_by_role("slider", name="What it paid").focus()
    for _ in range(20):
        found = re.search("likely between (.*) and (.*)", page.locator(".readout").nth(1).inner_text())
        if found:
            assert 0.0 <= float(found[1]) < float(found[2]) <= 1.0
        page.keyboard.press("ArrowLeft")


def test_names_are_shown_as_text_not_html(open_page: Open, played: Client) -> None:
    page = wait_until_drawn(open_page("/#/songs"))
    assert page.locator("tbody tr .name").filter(has_text=EVIL).inner_text() == EVIL
    assert page.evaluate("window.escaped") is None


def test_an_arm_that_wears_out_is_marked(open_page: Open, service: Running, client: Client) -> None:
    client("PUT", BANDIT, {**SONGS, "params": {"sigma": 0.05}, "arms": ["Golden Hour", "Harbour"]})
    wear_out(service, "songs", "Golden Hour", "Harbour")
    page = wait_until_drawn(open_page("/#/songs"))
    assert page.locator("tbody tr").filter(has_text="Golden Hour").locator(".badge.worn").inner_text() == "wearing out"
    assert page.locator("tbody tr").filter(has_text="Harbour").locator(".badge.worn").count() == 0
    explained = page.locator("section", has=page.locator("#arms")).inner_text()
    assert "when it pays less than it did, compared with the others" in explained


def test_new_decisions_appear_on_the_page(open_page: Open, played: Client) -> None:
    page = wait_until_drawn(open_page("/#/songs"))
    (made,) = played("POST", f"{BANDIT}/decisions").body["decisions"]
    page.wait_for_function(f"() => {DECISIONS} === '121'")
    assert page.locator(".why").inner_text().startswith(f"In decision {made['round']}, {made['arm']} was chosen")


def test_nothing_moves_while_it_is_paused(open_page: Open, played: Client) -> None:
    page = wait_until_drawn(open_page("/#/songs"))
    page.get_by_role("button", name="Pause").click()
    assert page.locator("#live").inner_text() == "Paused"
    play(played, 1)
    page.get_by_label("Order").select_option("name")  # which looks at the arms, and at the rest
    page.wait_for_function(f"() => {DECISIONS} === '121'")
    play(played, 1)
    with page.expect_event("request", lambda request: "/history" in request.url):
        page.get_by_role("button", name="Pause").click()
    page.wait_for_function(f"() => {DECISIONS} === '122'")


def test_a_lost_connection_is_made_again(browser: "Browser", service: Running, played: Client) -> None:
    page, tries = browser.new_page(), []

    def once(route: Any) -> None:
        tries.append(route.request.url)
        route.abort() if len(tries) == 1 else route.continue_()

    page.route("**/v1/events?*", once)
    page.goto(f"http://127.0.0.1:{service.port}/#/songs")
    page.locator("#live", has_text="Connecting again").wait_for()
    page.locator("#live.on").wait_for()
    assert len(tries) == 2
    play(played, 1)
    page.wait_for_function(f"() => {DECISIONS} === '121'")
    page.close()


def test_the_keyboard_alone_is_enough(open_page: Open, played: Client) -> None:
    page = open_page()
    page.get_by_role("link", name="songs").wait_for()
    focused = "document.activeElement"

    def press(key: str, until: str) -> None:
        for _ in range(40):
            page.keyboard.press(key)
            seen = page.evaluate(f"getComputedStyle({focused}).outlineStyle")
            assert seen != "none", page.evaluate(f"{focused}.outerHTML")
            if page.evaluate(f"{focused}.matches({until!r})"):
                return
        raise AssertionError(f"{until} is not reached")

    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focused}.id") == "main"
    press("Tab", ".bandits a")
    page.keyboard.press("Enter")
    wait_until_drawn(page)
    assert page.evaluate(f"{focused}.tagName") == "H1"  # what is new begins here
    press("Tab", ".chart")
    newest = page.evaluate(f"Number({focused}.getAttribute('aria-valuenow'))")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(f"Number({focused}.getAttribute('aria-valuenow'))") == newest - 1
    page.keyboard.press("Home")
    assert page.evaluate(f"{focused}.getAttribute('aria-valuetext')").startswith("Decisions 1 to ")
    press("Tab", "input[type=search]")
    page.keyboard.type("harb")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    press("Tab", "select")
    press("Shift+Tab", ".chart")
    press("Shift+Tab", ".home")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="songs").wait_for()


def test_everything_has_a_name_for_a_screen_reader(open_page: Open, played: Client) -> None:
    page = wait_until_drawn(open_page("/#/songs"))
    nameless = page.locator("button, a, input, select, [tabindex='0']").evaluate_all(
        "all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent || e.textContent).trim()).map(e => e.outerHTML)"
    )
    assert nameless == []
    assert page.get_by_role("slider").count() == 3
    assert page.locator("svg:not([aria-hidden])").count() == 0
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("h1").count() == 1


def test_light_and_dark_follow_the_system(open_page: Open, played: Client) -> None:
    page = wait_until_drawn(open_page("/#/songs", color_scheme="light"))
    back, text = colours(page)
    assert back > 230
    assert text < 60
    page.emulate_media(color_scheme="dark")
    back, text = colours(page)
    assert back < 40
    assert text > 200


def test_reduced_motion_is_respected(open_page: Open, played: Client) -> None:
    moving = "getComputedStyle(document.querySelector('#live'), '::before').animationName"
    assert wait_until_drawn(open_page("/#/songs")).evaluate(moving) == "pulse"
    assert wait_until_drawn(open_page("/#/songs", reduced_motion="reduce")).evaluate(moving) == "none"


def test_no_window_scrolls_sideways(open_page: Open, played: Client) -> None:
    page = wait_until_drawn(open_page("/#/songs", 320, 640))
    for width, height in ((320, 640), (360, 740), (820, 1180), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        assert overflow(page) == 0
        for chart in page.locator(".chart").all():
            box = chart.bounding_box()
            assert box is not None
            assert box["width"] > 0.7 * min(width, 400)


def test_a_token_is_asked_for_and_kept_in_the_tab(browser: "Browser", tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    reader, writer = new_token(tokens, "reader", ["read"]), new_token(tokens, "writer", ["admin", "decide", "reward"])
    with running(tmp_path / "tokens.rot", token_file=tokens) as service:
        client = service.client(writer)
        assert client("PUT", BANDIT, SONGS).status == 201
        play(client, 30)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{service.port}/#/songs")
        field = page.get_by_label("Token", exact=True)
        for wrong, message in (("guess", "an unknown one"), (writer, "scope must be read")):
            field.fill(wrong)
            page.keyboard.press("Enter")
            page.locator("#told", has_text=message).wait_for()
        field.fill(reader)
        page.keyboard.press("Enter")
        wait_until_drawn(page)
        play(client, 1)
        page.wait_for_function(f"() => {DECISIONS} === '31'")  # the stream has the token, too
        assert page.evaluate("[Object.values(sessionStorage), localStorage.length, document.cookie]") == [[reader], 0, ""]
        assert reader not in page.content()
        page.get_by_role("button", name="Forget the token").click()
        page.get_by_label("Token", exact=True).wait_for()
        assert page.evaluate("sessionStorage.length") == 0
        page.close()


def effort(page: "Page", work: Callable[[], None]) -> float:
    """Return how long the browser worked, on scripts, styles and layout."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def spent() -> float:
        values = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        return float(values["ScriptDuration"] + values["LayoutDuration"] + values["RecalcStyleDuration"])

    before = spent()
    work()
    return spent() - before


def test_a_thousand_arms_are_hardly_more_work_than_thirty(open_page: Open, client: Client) -> None:
    pages = {}
    for arms in (30, 1_000):
        name = f"songs{arms}"
        made = {"policy": "uniform", "arms": [f"song {k:04d}" for k in range(arms)], "max_pending": 100_000}
        assert client("PUT", f"/v1/bandits/{name}", made).status == 201
        play(client, 3_000 // arms, name, arms)
        pages[arms] = open_page(f"/#/{name}")
        wait_until_drawn(pages[arms])
        assert pages[arms].locator("tbody tr").count() == 20
        # On a busy machine, the page first shows the events that the service has read so far.
        pages[arms].locator(".legend .name").first.filter(has_text=re.compile(f"^{arms - 8} other arms$")).wait_for()
        assert pages[arms].locator(".legend .name").count() == 9

    def use(page: "Page", arms: int) -> Callable[[], None]:
        def work() -> None:
            for order in ("name", "overall", "plays"):
                with page.expect_response(re.compile(f"order={order}")):
                    page.get_by_label("Order").select_option(order)
            with page.expect_response(re.compile("offset=20")):
                page.get_by_role("button", name="Next").click()
            page.get_by_label("Search").fill(f"{arms - 1:04d}")
            page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")

        return work

    few, many = (effort(pages[arms], use(pages[arms], arms)) for arms in (30, 1_000))
    assert many < 4 * few


def test_a_script_in_the_browser_can_do_everything(open_page: Open, client: Client) -> None:
    page = open_page()
    results = page.evaluate(
        """async () => {
          const call = async (method, path, body) => {
            const options = { method, headers: {} };
            if (body !== undefined) {
              options.body = JSON.stringify(body);
              options.headers["Content-Type"] = "application/json";
            }
            const answer = await fetch(path, options);
            const text = await answer.text();
            if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
            const told = path === "/metrics" ? text : JSON.parse(text);
            return { status: answer.status, body: told };
          };
          const at = "/v1/bandits/js";
          const made = await call("PUT", at, { policy: "ucb1", params: { sigma: 0.5 }, arms: ["a", "b", "c"], seed: 1 });
          const again = await call("PUT", at, { policy: "ucb1", params: { sigma: 0.5 }, arms: ["a", "b", "c"], seed: 1 });
          const one = await call("POST", `${at}/decisions`, { idempotency_key: "k" });
          const same = await call("POST", `${at}/decisions`, { idempotency_key: "k" });
          const page = await call("POST", `${at}/decisions`, { count: 2, without: [one.body.decisions[0].arm] });
          const tried = await call("POST", `${at}/decisions`, { arms: ["a"], dry_run: true });
          const [first, second, third] = [one, page].flatMap((each) => each.body.decisions.map((made) => made.id));
          const paid = await call("POST", `${at}/rewards`, [{ id: first, reward: 1 }, { id: first, reward: 1 }]);
          const cancelled = await call("POST", `${at}/cancellations`, { ids: [second] });
          const expired = await call("POST", `${at}/expirations`, { ids: [third], missing: 0 });
          const added = await call("PUT", `${at}/arms/${encodeURIComponent("d/e")}`, {});
          const removed = await call("DELETE", `${at}/arms/a?keep=true`);
          const explained = await call("GET", `${at}/explain`);
          const log = await call("GET", `${at}/log?after=0&limit=100`);
          const history = await call("GET", `${at}/history`);
          const arms = await call("GET", `${at}/arms?search=d`);
          const events = (await fetch(`/v1/events?bandit=js`)).body.getReader();
          const hello = new TextDecoder().decode((await events.read()).value);
          await events.cancel();
          const shown = await call("GET", at);
          const archived = await call("POST", `${at}/archive`);
          const list = await call("GET", "/v1/bandits");
          const health = [await call("GET", "/livez"), await call("GET", "/readyz"), await call("GET", "/openapi.json")];
          const metrics = await call("GET", "/metrics");
          return {
            statuses: [made.status, again.status, added.status],
            same: one.body.decisions[0].id === same.body.decisions[0].id,
            tried: tried.body.decisions[0].id,
            outcomes: [paid, cancelled, expired].map((each) => each.body.results.map((result) => result.outcome)),
            arms: removed.body,
            explained: explained.body.arms.map((each) => each.arm),
            events: log.body.events.map((each) => each.payload.event ?? each.payload.note),
            rounds: [history.body.rounds, shown.body.rounds],
            found: arms.body.arms.map((each) => each.arm),
            hello,
            archived: [archived.body.archived, list.body.bandits[0].archived],
            health: health.map((each) => each.status),
            counted: metrics.body.includes('rotting_events_total{event="decided"} 3.0'),
          };
        }"""
    )
    assert results == {
        "statuses": [201, 200, 201],
        "same": True,
        "tried": None,
        "outcomes": [["applied", "duplicate"], ["applied"], ["applied"]],
        "arms": {"arms": ["b", "c", "d/e"], "retired": ["a"]},
        "explained": ["b", "c", "d/e"],
        "events": ["decided", "decided", "decided", "rewarded", "cancelled", "expired", "added", "retired"],
        "rounds": [3, 3],
        "found": ["d/e"],
        "hello": "retry: 1000\n\n",
        "archived": [True, True],
        "health": [200, 200, 200],
        "counted": True,
    }
