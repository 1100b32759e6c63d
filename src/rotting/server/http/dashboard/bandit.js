// The page of one bandit. It loads the data again after new events, but waits longer if the service responds slowly.
import { Problem, get, sleep, watch } from "./api.js";
import { Arms } from "./arms.js";
import { h, say } from "./dom.js";
import { Chosen, Paid, WithoutReward, Wear, trend } from "./history.js";
import { compact, count, duration, name, number, percent, plural, policy, why } from "./words.js";

const PAUSE = 1000; // least milliseconds between two updates; four times the duration of an update if that is longer

class Tile {
  constructor(label) {
    this.value = h("dd", {}, "–");
    this.note = h("dd", { class: "note" });
    this.element = h("div", {}, h("dt", {}, label), this.value, this.note);
  }

  set(value, note = "") {
    say(this.value, value);
    say(this.note, note);
  }
}

/** What the policy earns above uniform choices, if some decisions are held out. */
class Uplift {
  constructor() {
    this.text = h("p", { class: "worth" });
    this.element = h("section", { "aria-labelledby": "uplift", hidden: true }, h("h2", { id: "uplift" }, "What the policy is worth"), this.text);
  }

  show(found, holdout) {
    this.element.hidden = !holdout;
    if (!holdout) return;
    if (!found) return say(this.text, "Rewards are not all in the range that is compared: ask for the uplift with their range.");
    const verdict = found.verdict[0].toUpperCase() + found.verdict.slice(1);
    const sides = found.difference === null ? "" : ` ${number(found.policy)} per decision with the policy (${plural(found.rewards[0], "reward")}), ${number(found.uniform)} with uniform choices (${plural(found.rewards[1], "reward")}).`;
    say(this.text, `${verdict}.${sides} The difference is between ${number(found.low)} and ${number(found.high)}, at 95 % and at whatever time you look.`);
  }
}

export class BanditView {
  constructor(bandit, { fail, live }) {
    this.bandit = bandit;
    this.fail = fail;
    this.live = live;
    this.paused = false;
    this.control = new AbortController();
    this.title = h("h1", { tabindex: "-1" }, bandit);
    this.about = h("p", { class: "sub" });
    this.notice = h("section", { class: "notice", role: "status", hidden: true });
    this.why = h("p", { class: "why" }, "No decision yet.");
    this.tiles = { decisions: new Tile("Decisions"), mean: new Tile("Mean reward now"), pending: new Tile("Pending"), lost: new Tile("Lost"), worn: new Tile("Wearing out") };
    this.pictures = [new Chosen(), new Wear(), new Paid(), new WithoutReward()];
    this.uplift = new Uplift();
    this.arms = new Arms(encodeURIComponent(bandit), () => this.soon());
    const [chosen, wear, paid, withoutReward] = this.pictures.map((each) => each.element);
    this.element = h("div", {},
      h("p", { class: "hint" }, h("a", { href: "#/" }, "← All bandits")), this.title, this.about, this.notice,
      h("dl", { class: "tiles" }, Object.values(this.tiles).map((each) => each.element)),
      h("section", { "aria-labelledby": "why" }, h("h2", { id: "why" }, "Why the last decision"), this.why),
      this.uplift.element, chosen, wear, h("div", { class: "columns" }, paid, withoutReward), this.arms.element);
  }

  async run() {
    const { signal } = this.control;
    document.addEventListener("visibilitychange", () => this.wake?.(), { signal });
    const watching = watch(this.bandit, signal, {
      onEvents: () => this.happened(),
      onState: (on) => {
        this.live(on);
        if (on) this.happened();
      },
    }).catch((error) => this.fail(error));
    this.changed = true;
    while (!signal.aborted) {
      await this.until(() => this.asked || (this.changed && !this.paused && !document.hidden));
      if (signal.aborted) break;
      this.changed = this.asked = false;
      const began = performance.now();
      let found = null;
      try {
        found = await this.look(signal);
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof Problem && error.status < 500) return this.fail(error);
        this.tell(`The service does not respond: ${error.message}. Trying again.`);
        this.changed = true;
      }
      if (found) this.show(...found);
      const took = performance.now() - began;
      await Promise.race([sleep(this.behind ? 50 : Math.max(PAUSE, 4 * took), signal), new Promise((done) => (this.hurry = done))]);
    }
    return watching;
  }

  stop() {
    this.control.abort();
    this.wake?.();
  }

  pause(on) {
    this.paused = on;
    this.wake?.();
  }

  happened() {
    this.changed = true;
    this.wake?.();
  }

  /** Update now, because the user searches or turns a page. */
  soon() {
    this.asked = true;
    this.hurry?.();
    this.wake?.();
  }

  async until(ready) {
    while (!ready() && !this.control.signal.aborted) await new Promise((done) => (this.wake = done));
  }

  tell(text) {
    this.notice.hidden = !text;
    say(this.notice, text);
  }

  async look(signal) {
    const path = `v1/bandits/${encodeURIComponent(this.bandit)}`;
    const [about, history, arms] = await Promise.all([get(path, signal), get(`${path}/history`, signal), this.arms.fetch(signal)]);
    this.introduce(about);
    this.uplift.show(about.holdout ? await get(`${path}/uplift`, signal).catch(() => null) : null, about.holdout);
    this.behind = history.behind;
    if (history.behind) this.changed = true;
    const full = about.most_pending !== null && about.pending >= about.most_pending;
    if (history.behind) this.tell(`Reading the log: ${plural(history.behind, "event")} left. The charts show the beginning of the log.`);
    else this.tell(full ? `max_pending is reached: ${plural(about.pending, "decision")} are pending, and each new one expires the oldest.` : "");
    return [history, arms];
  }

  introduce(about) {
    this.shown = about;
    const badges = [
      about.archived && "archived: makes no more decisions",
      about.reward_window !== null && `reward window ${duration(about.reward_window)}`,
      about.holdout && `holdout ${percent(about.holdout)}`,
    ].filter(Boolean);
    this.about.replaceChildren(policy(about), ...badges.flatMap((text) => [" ", h("span", { class: "badge off" }, text)]));
  }

  show(history, arms) {
    const { totals } = history, { now, before, decisions } = trend(history);
    this.tiles.decisions.set(compact(totals.decisions), `${plural(arms.total, "arm")} to choose from`);
    const same = before !== null && Math.abs(now - before) <= 0.001 * Math.abs(before);
    const change = before === null || now === null ? "" : same ? "steady" : `${now >= before ? "▲" : "▼"} ${number(Math.abs(now - before))} against the ${count(decisions)} decisions before`;
    this.tiles.mean.set(number(now), change || (totals.mean === null ? "no reward yet" : `${number(totals.mean)} over all`));
    this.tiles.pending.set(compact(totals.pending), "decisions that have not settled");
    this.tiles.lost.set(percent(totals.decisions ? totals.lost / totals.decisions : 0), `${plural(totals.lost, "decision")} ended without a reward`);
    this.tiles.worn.set(history.behind ? "–" : compact(arms.worn), `of ${plural(arms.total, "arm")} pay less than they did`);
    const { last } = history, countsPending = this.shown.pending_rule !== "ignore" && totals.pending > 0;
    if (history.behind && !last?.reason) say(this.why, "The log is being read; the last decision is shown when that is done.");
    else if (last) {
      const key = JSON.stringify([last, countsPending]);
      if (key !== this.reason) this.why.replaceChildren(`In decision ${count(last.round)}, `, h("strong", {}, name(last.arm)), ` ${why(last, countsPending, this.shown.draws)}`);
      this.reason = key;
    }
    if (history.plays.length) this.pictures.forEach((each) => each.update(history));
    this.arms.paint(history.arms);
    this.arms.explain(arms, this.shown.draws, countsPending);
    this.arms.show(arms);
  }
}
