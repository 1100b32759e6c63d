// Chooses the page: the list of bandits, one bandit, or the form for a token.
import { Problem, get, token } from "./api.js";
import { BanditView } from "./bandit.js";
import { h, say } from "./dom.js";
import { count, number, plural, policy } from "./words.js";

const main = document.getElementById("main");
const live = document.getElementById("live");
const pause = document.getElementById("pause");
const leave = document.getElementById("leave");
let view = null;

/** What is known of a bandit in the list: its traffic and what it pays now. */
const facts = (row) => (row.last_hour === null ? "" : `${plural(row.last_hour, "decision")} in the last hour${row.mean === null ? "" : ` · mean reward now ${number(row.mean)}`}`);

function show(title, ...content) {
  document.title = title ? `${title} – rotting` : "rotting";
  main.replaceChildren(...content);
}

function state(on) {
  const paused = view?.paused;
  live.classList.toggle("on", on && !paused);
  say(live, paused ? "Paused" : on ? "Live" : "Connecting again …");
  state.on = on;
}

function askForToken(why) {
  const input = h("input", { type: "password", autocomplete: "off", required: true, "aria-describedby": "told", id: "token" });
  const submit = (event) => {
    event.preventDefault();
    token.set(input.value.trim());
    open();
  };
  show("Token", h("section", { "aria-labelledby": "asked" },
    h("h1", { id: "asked" }, "A token is needed"),
    h("p", { class: "sub", id: "told", role: "alert" }, why),
    h("form", { class: "token", onsubmit: submit },
      h("label", {}, "Token", input),
      h("p", { class: "hint" }, "A token with the scope read. It is kept in this tab only and forgotten when you close it."),
      h("button", { type: "submit" }, "Continue"))));
  input.focus();
}

function fail(error) {
  end();
  if (error instanceof Problem && (error.status === 401 || error.status === 403)) {
    const had = token.get();
    token.forget();
    leave.hidden = true;
    askForToken(had ? `This token is refused: ${error.message}.` : "This service needs a token.");
  } else {
    const again = h("button", { type: "button", onclick: () => open() }, "Try again");
    show("Problem", h("section", { class: "wrong", role: "alert" }, h("h1", {}, "Something went wrong"), h("p", {}, error.message), again), h("p", {}, h("a", { href: "#/" }, "All bandits")));
  }
}

function end() {
  view?.stop();
  view = null;
  pause.hidden = true;
  live.classList.remove("on");
  say(live, "");
}

async function list() {
  const items = h("ul", { class: "bandits" });
  const more = h("button", { type: "button", hidden: true }, "Show more");
  let next = "";
  const load = async () => {
    const found = await get(`v1/bandits?after=${encodeURIComponent(next)}`);
    items.append(...found.bandits.map((row) => h("li", {}, h("a", { href: `#/${encodeURIComponent(row.name)}` },
      h("strong", {}, row.name), h("span", {}, policy(row)), h("span", { class: "facts" }, facts(row)), row.worn ? h("span", { class: "badge worn" }, `${count(row.worn)} wearing out`) : null, row.archived ? h("span", { class: "badge off" }, "archived") : null))));
    next = found.next;
    more.hidden = next === null;
    return found.bandits.length;
  };
  more.addEventListener("click", () => load().catch(fail));
  const found = await load();
  const title = h("h1", { tabindex: "-1" }, "Bandits");
  const none = h("p", {}, "There is no bandit yet. ", h("code", {}, "PUT /v1/bandits/{name}"), " creates one.");
  show("", title, h("p", { class: "sub" }, "Each bandit chooses among arms that wear out, and learns from their rewards."), found ? items : none, more);
  return title;
}

async function open(moved = false) {
  end();
  leave.hidden = !token.get();
  try {
    const bandit = decodeURIComponent(location.hash.replace(/^#\/?/, ""));
    let title;
    if (!bandit || bandit === "main") title = await list();
    else {
      const opened = (view = new BanditView(bandit, { fail: (error) => view === opened && fail(error), live: (on) => view === opened && state(on) }));
      title = opened.title;
      pause.hidden = false;
      pause.setAttribute("aria-pressed", "false");
      show(bandit, opened.element);
      opened.run();
    }
    if (moved) title.focus(); // so that screen readers and the keyboard start at the new content
  } catch (error) {
    fail(error);
  }
}

pause.addEventListener("click", () => {
  view.pause(!view.paused);
  pause.setAttribute("aria-pressed", String(view.paused));
  state(state.on);
});
leave.addEventListener("click", () => {
  token.forget();
  open();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash of the address names the bandit
  main.focus();
});
addEventListener("hashchange", () => open(true));
open();
