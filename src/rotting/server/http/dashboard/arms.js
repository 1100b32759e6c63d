// The list of arms, page by page. The service sorts and searches, so that a thousand arms are as fast as ten.
import { get } from "./api.js";
import { h, s, say } from "./dom.js";
import { count, name, number, percent, plural } from "./words.js";

const LIMIT = 20;
const ORDERS = [["plays", "Chosen most"], ["share", "Chosen most now"], ["index", "Highest estimate"], ["overall", "Paid best"], ["worn", "Wearing out first"], ["name", "Name"]];
const BY_ESTIMATE = "The policy chooses the arm with the highest estimate: what its newest rewards paid, plus what is uncertain about it. ";
const AT_RANDOM = "The policy draws arms at random. ";
const NOT_COUNTED = "Pending decisions are not counted in these estimates. When the policy chooses, they make an arm less uncertain. ";
const RULE = "An arm is marked as wearing out when it pays less than it did, compared with the others at the same time. The service looks every five minutes, at 100,000 decisions or fewer: all of the arms that are shown rarely, and a part of the others.";
const LIMITS = { paused: "paused", cap: "at its cap", floor: "below its floor" };

function bar(row, low, high) {
  const base = Math.min(0, low ?? 0), top = Math.max(high ?? 1, row.overall ?? base, base + 1e-12);
  const x = (value) => (98 * (Math.min(top, Math.max(base, value)) - base)) / (top - base);
  const part = (kind, from, to) => s("rect", { class: kind, x: `${from}%`, y: 3, width: `${Math.max(0, to - from)}%`, height: 12 });
  const mark = (kind, at, wide) => s("rect", { class: kind, x: `${at}%`, width: wide, height: 18 });
  const shapes = [s("rect", { class: "track", width: "100%", height: 18 })];
  const tip = row.index ?? (row.mean !== null && row.width !== null ? row.mean + row.width : null);
  if (row.mean !== null) shapes.push(part("has", x(base), x(row.mean)));
  if (tip !== null && row.mean !== null) shapes.push(part("may", x(row.mean), x(tip)));
  if (tip !== null) shapes.push(mark("tip", x(tip), 3));
  if (row.overall !== null) shapes.push(mark("all", x(row.overall), 5));
  return s("svg", { class: "bar", "aria-hidden": "true" }, ...shapes);
}

function spark(values) {
  const top = Math.max(1e-9, ...values), last = Math.max(1, values.length - 1);
  const path = values.map((value, k) => `${((100 * k) / last).toFixed(1)},${(28 - (26 * value) / top).toFixed(1)}`).join("L");
  return s("svg", { class: "spark", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" }, values.length ? s("path", { d: `M0,28L${path}L100,28Z` }) : "");
}

function estimate(row) {
  if (row.retired) return "–";
  if (row.mean === null) return row.pulls ? plural(row.pulls, "reward") : row.plays ? "no settled reward yet" : "not tried yet";
  return row.width === null ? number(row.mean) : `${number(row.mean)} + ${number(row.width)}`;
}

function windowOf(row) {
  if (!row.window || row.mean === null) return null;
  return row.window >= row.pulls ? `of all ${plural(row.pulls, "reward")}` : `of the newest ${count(row.window)}`;
}

export class Arms {
  constructor(bandit, changed) {
    this.bandit = bandit;
    this.query = { search: "", order: "plays", offset: 0 };
    this.colours = new Map();
    const set = (change) => {
      Object.assign(this.query, { offset: 0 }, change);
      changed();
    };
    this.body = h("tbody");
    this.how = h("span");
    this.status = h("span", { role: "status" });
    this.earlier = h("button", { type: "button", onclick: () => set({ offset: Math.max(0, this.query.offset - LIMIT) }) }, "Previous");
    this.later = h("button", { type: "button", onclick: () => set({ offset: this.query.offset + LIMIT }) }, "Next");
    const key = (kind, text) => h("span", { class: "key" }, s("svg", { class: "bar", viewBox: "0 0 26 14", "aria-hidden": "true" }, s("rect", kind === "all" || kind === "tip" ? { class: kind, x: 11, width: kind === "all" ? 5 : 3, height: 14 } : { class: kind, y: 2, width: 26, height: 10 })), text);
    this.element = h("section", { "aria-labelledby": "arms" },
      h("h2", { id: "arms" }, "The arms now"),
      h("p", { class: "hint" }, this.how, RULE),
      h("p", { class: "hint" }, key("has", "paid of late"), key("may", "uncertain"), key("tip", "estimate"), key("all", "paid over all")),
      h("div", { class: "controls" },
        h("label", { class: "grow" }, "Search", h("input", { type: "search", maxlength: 200, oninput: (event) => set({ search: event.target.value }) })),
        h("label", {}, "Order", h("select", { onchange: (event) => set({ order: event.target.value }) }, ORDERS.map(([value, label]) => h("option", { value }, label))))),
      h("table", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "named" }, "Arm"), h("th", { scope: "col" }, "Share now"), h("th", { scope: "col" }, "Chosen over time"), h("th", { scope: "col", class: "pays" }, "What it pays"), h("th", { scope: "col" }, "Rewards"))),
        this.body),
      h("div", { class: "pager" }, this.status, h("span", {}, this.earlier, " ", this.later)));
  }

  /** Explain how the policy chooses; `countsPending`: whether there are pending decisions that influence its choice. */
  explain(found, draws, countsPending) {
    const byEstimate = !draws && found.arms.some((row) => row.index !== null);
    say(this.how, draws ? AT_RANDOM : byEstimate ? BY_ESTIMATE + (countsPending ? NOT_COUNTED : "") : "");
  }

  /** Remember which arms have a colour in the chart. */
  paint(arms) {
    this.colours = new Map(arms.map((each, k) => [name(each.arm), k]));
  }

  async fetch(signal) {
    const query = new URLSearchParams({ ...this.query, limit: LIMIT });
    const found = await get(`v1/bandits/${this.bandit}/arms?${query}`, signal);
    if (found.matching && this.query.offset >= found.matching) {
      this.query.offset = 0;
      return this.fetch(signal);
    }
    return found;
  }

  show(found) {
    this.body.replaceChildren(...found.arms.map((row) => this.row(row, found)));
    const from = this.query.offset + 1, to = this.query.offset + found.arms.length;
    const of = found.matching === found.total ? plural(found.total, "arm") : `${count(found.matching)} found of ${plural(found.total, "arm")}`;
    say(this.status, found.arms.length ? `${count(from)} to ${count(to)} of ${of}` : "No arm has this in its name.");
    this.earlier.disabled = this.query.offset === 0;
    this.later.disabled = to >= found.matching;
  }

  row(row, { low, high }) {
    const label = name(row.arm), colour = this.colours.get(label);
    const over = row.overall === null ? null : `${number(row.overall)} over all`;
    return h("tr", {},
      h("td", { class: "arm" }, h("div", { class: "in" },
        colour === undefined ? null : h("span", { class: `swatch f${colour}`, "aria-hidden": "true" }),
        h("span", { class: "name", title: label }, label)),
        row.worn ? h("span", { class: "badge worn", title: RULE }, "wearing out") : null,
        row.lasts ? h("small", {}, row.lasts) : null,
        row.rule in LIMITS ? h("span", { class: "badge off" }, LIMITS[row.rule]) : null,
        row.retired ? h("span", { class: "badge off" }, "retired") : null),
      h("td", { "data-label": "Share now" }, percent(row.share), h("small", {}, `${count(row.plays)} in all`)),
      h("td", { "data-label": "Chosen over time" }, spark(row.spark)),
      h("td", { class: "wide", "data-label": "What it pays" }, bar(row, low, high), h("small", {}, [[estimate(row), windowOf(row)].filter(Boolean).join(" "), over].filter(Boolean).join(" · "))),
      h("td", { class: "wide", "data-label": "Rewards" }, count(row.rewards), h("small", {}, `${count(row.pending)} pending · ${count(row.lost)} lost`)));
  }
}
