// The charts of a bandit over time: choices, mean rewards of arms, mean reward, and decisions without a reward.
import { Chart, between, line } from "./charts.js";
import { h, s, say } from "./dom.js";
import { count, name, number, percent, plural } from "./words.js";

const COLOURS = 8;
const NOW = 10; // buckets

const sum = (values) => values.reduce((a, b) => a + b, 0);

/** The weighted mean of means; null if there is none. */
function pooled(means, weights) {
  let total = 0, weight = 0;
  means.forEach((mean, k) => {
    if (mean !== null) {
      total += mean * weights[k];
      weight += weights[k];
    }
  });
  return weight ? total / weight : null;
}

const Z = 1.96; // for 95 %

/** Wilson's interval of a share, such as a click rate: it stays between 0 and 1, and does not vanish where nobody clicked. */
function wilson(share, size) {
  const shrink = 1 + Z ** 2 / size, centre = (share + Z ** 2 / (2 * size)) / shrink;
  const half = (Z / shrink) * Math.sqrt((share * (1 - share)) / size + (Z / (2 * size)) ** 2);
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

/** A 95 % interval of the mean of rewards in several buckets, within what rewards can be; null for fewer than two rewards. */
function interval(rewards, means, squares, { binary, lowest_reward: lowest, highest_reward: highest }) {
  const size = sum(rewards), mean = pooled(means, rewards);
  if (size < 2) return [null, null];
  if (binary) return wilson(mean, size);
  const apart = sum(rewards.map((number, k) => (number ? squares[k] + number * (means[k] - mean) ** 2 : 0)));
  const half = Z * Math.sqrt(apart / (size - 1) / size);
  return [Math.max(lowest ?? -Infinity, mean - half), Math.min(highest ?? Infinity, mean + half)];
}

/**
 * The history in at most `steps` steps, so that a chart shows the trend and not the noise. If the latest step has hardly begun,
 * it is merged with the one before.
 */
export function prepared(history, steps) {
  const { width, rounds, plays } = history;
  const size = Math.max(1, Math.ceil(plays.length / steps));
  const groups = [];
  for (let from = 0; from < plays.length; from += size) groups.push([from, Math.min(plays.length, from + size)]);
  const last = groups[groups.length - 1];
  if (groups.length > 1 && rounds - last[0] * width < (size * width) / 2) groups.splice(-2, 2, [groups[groups.length - 2][0], last[1]]);
  const over = (call) => groups.map(([from, to]) => call((list) => list.slice(from, to)));
  const sums = (list) => over((part) => sum(part(list)));
  const data = { rounds, others: history.others, size: groups.length, rewards: sums(history.rewards), plays: sums(plays), lost: sums(history.lost), other_plays: sums(history.other_plays) };
  data.mean = over((part) => pooled(part(history.mean), part(history.rewards)));
  const bands = over((part) => interval(part(history.rewards), part(history.mean), part(history.squares), history));
  data.low = bands.map(([low]) => low);
  data.high = bands.map(([, high]) => high);
  data.arms = history.arms.map((arm) => ({ arm: arm.arm, plays: sums(arm.plays) }));
  data.starts = groups.map(([from]) => from * width + 1);
  data.ends = groups.map(([, to]) => Math.min(rounds, to * width));
  data.centres = groups.map((_, k) => (data.starts[k] - 1 + data.ends[k]) / 2);
  data.pending = data.plays.map((all, k) => Math.max(0, all - data.rewards[k] - data.lost[k]));
  return data;
}

/** The mean reward of the newest buckets that have settled, and of those before them. */
export function trend({ mean, rewards, plays }) {
  const over = (from, to) => pooled(mean.slice(from, to), rewards.slice(from, to));
  const size = rewards.findLastIndex((each) => each > 0) + 1, now = over(Math.max(0, size - NOW), size);
  return { now, before: size >= 2 * NOW ? over(size - 2 * NOW, size - NOW) : null, decisions: sum(plays.slice(Math.max(0, size - 2 * NOW), Math.max(0, size - NOW))) };
}

/** How many steps fit into the width of a chart. */
const room = (element) => Math.max(20, Math.round(element.clientWidth / 18));

function layers(data, series, xs, y) {
  let bottoms = data.plays.map(() => 0);
  return series.map(({ kind, values }) => {
    const tops = bottoms.map((low, k) => low + (data.plays[k] ? values[k] / data.plays[k] : 0));
    const wide = (list) => (xs.length > list.length ? [...list, list[list.length - 1]] : list);
    const shape = s("path", { class: `layer f${kind}`, d: between(xs, wide(tops).map(y), wide(bottoms).map(y)) });
    bottoms = tops;
    return shape;
  });
}

const share = { domain: () => [0, 1], ticks: () => [0, 0.25, 0.5, 0.75, 1], show: (value) => percent(value) };

const chosenSeries = (data) => [
  ...data.arms.map((arm, k) => ({ kind: k % COLOURS, label: name(arm.arm), values: arm.plays })),
  ...(data.others ? [{ kind: "other", label: `${count(data.others)} other arms`, values: data.other_plays }] : []),
];

export class Chosen {
  constructor() {
    this.legend = h("ul", { class: "legend" });
    this.shapes = [];
    this.chart = new Chart({
      label: "What was chosen: share of decisions of each arm", height: 260, ...share,
      draw: (data, xs, y) => (this.shapes = layers(data, chosenSeries(data), xs, y)),
      describe: (data, k) => {
        const found = chosenSeries(data).map((each) => [each.values[k] / (data.plays[k] || 1), each.label]);
        const most = found.filter(([part]) => part >= 0.005).sort((a, b) => b[0] - a[0]).slice(0, 3);
        return most.map(([part, label]) => `${label} ${percent(part)}`).join(", ") || "none";
      },
      onMove: (data, k) => this.tell(data, k),
    });
    this.element = h("section", { "aria-labelledby": "chosen" },
      h("h2", { id: "chosen" }, "What was chosen"),
      h("p", { class: "hint" }, "Share of the decisions that each arm got, from the first decision to the newest."),
      this.chart.element, this.legend);
  }

  update(history) {
    const data = prepared(history, room(this.element));
    const series = chosenSeries(data).reverse(); // in the order of the layers of the chart
    const key = series.map((each) => each.label).join("\n");
    if (key !== this.key) {
      this.key = key;
      this.legend.replaceChildren(...series.map(({ kind, label }, k) => {
        const dim = (on) => this.shapes.forEach((shape, at) => shape.classList.toggle("dim", on && at !== series.length - 1 - k));
        return h("li", { onpointerenter: () => dim(true), onpointerleave: () => dim(false) },
          h("span", { class: `swatch f${kind}`, "aria-hidden": "true" }), h("span", { class: "name", title: label }, label), h("span", { class: "value" }));
      }));
    }
    this.chart.update(data);
  }

  tell(data, k) {
    const series = chosenSeries(data).reverse();
    [...this.legend.children].forEach((item, at) => {
      if (series[at]) say(item.lastChild, percent(series[at].values[k] / (data.plays[k] || 1)));
    });
  }
}

/** The number of steps up to the last one without pending decisions. */
const settledUntil = (data) => data.pending.findLastIndex((each) => each === 0) + 1;

export class Paid {
  constructor() {
    this.chart = new Chart({
      label: "What it paid: mean reward", height: 220, show: number,
      domain: (data) => {
        const ends = [...data.low, ...data.high, ...data.mean].filter((each) => each !== null);
        const low = Math.min(...ends, ends.every((each) => each >= 0) ? 0 : Infinity), high = Math.max(...ends);
        return Number.isFinite(low) && Number.isFinite(high) ? [low, high > low ? high : low + 1] : [0, 1];
      },
      draw: (data, xs, y) => {
        const bands = [];
        let from = null;
        for (let k = 0; k <= data.size; k += 1) { // a band for each stretch that has one
          if (k < data.size && data.low[k] !== null) from ??= k;
          else if (from !== null) {
            bands.push(s("path", { class: "band", d: between(xs.slice(from, k), data.high.slice(from, k).map(y), data.low.slice(from, k).map(y)) }));
            from = null;
          }
        }
        const means = data.mean.map((each) => (each === null ? null : y(each))), end = settledUntil(data);
        const settled = means.map((each, k) => (k < end ? each : null)), open = means.map((each, k) => (k >= end - 1 ? each : null));
        const course = (kind, ys) => s("path", { class: kind, d: line(xs.slice(0, data.size), ys) });
        return [...bands, course("mean", settled), course("mean open", open)];
      },
      describe: (data, k) => {
        if (data.mean[k] === null) return "no reward yet";
        const band = data.low[k] === null ? "" : `, likely between ${number(data.low[k])} and ${number(data.high[k])}`;
        const open = data.pending[k] ? `; ${plural(data.pending[k], "decision")} still pending` : "";
        return `${number(data.mean[k])} on average of ${plural(data.rewards[k], "reward")}${band}${open}`;
      },
    });
    this.element = h("section", { "aria-labelledby": "paid" },
      h("h2", { id: "paid" }, "What it paid"),
      h("p", { class: "hint" }, "Mean reward of the decisions made at that time, once they have settled. The band is a 95 % interval of the mean; the dotted line is of decisions some of which are pending."),
      this.chart.element);
  }

  update(history) {
    this.chart.update(prepared(history, 2 * room(this.element)));
  }
}

export class WithoutReward {
  constructor() {
    const parts = [["lost", "lost: expired or cancelled"], ["pending", "pending: not settled yet"]];
    const series = (data) => parts.map(([kind]) => ({ kind, values: data[kind] }));
    this.chart = new Chart({
      label: "Pending and lost: share of decisions without a reward that counts", height: 220, show: percent,
      domain: (data) => [0, Math.min(1, Math.max(0.1, ...data.plays.map((all, k) => (1.1 * (data.lost[k] + data.pending[k])) / (all || 1))))],
      draw: (data, xs, y) => layers(data, series(data), xs, y),
      describe: (data, k) => {
        const all = data.plays[k] || 1;
        return `${percent(data.rewards[k] / all)} settled, ${percent(data.pending[k] / all)} pending, ${percent(data.lost[k] / all)} lost`;
      },
    });
    this.element = h("section", { "aria-labelledby": "without-reward" },
      h("h2", { id: "without-reward" }, "Pending and lost"),
      h("p", { class: "hint" }, "Share of the decisions made at that time that have no reward. If many are lost, rewards do not reach the service."),
      this.chart.element,
      h("ul", { class: "legend" }, parts.map(([kind, label]) => h("li", {}, h("span", { class: `swatch f${kind}`, "aria-hidden": "true" }), label))));
  }

  update(history) {
    this.chart.update(prepared(history, room(this.element)));
  }
}

/** The mean rewards of an arm in at most ten steps with as many rewards each, and their mean rounds: so noise is no wear. */
function points(arm, { width, rounds }) {
  const least = sum(arm.rewards) / 10, found = [];
  arm.rewards.forEach((number, k) => {
    if (!number) return;
    if (!found.length || found[found.length - 1].number >= least) found.push({ number: 0, total: 0, moment: 0 });
    const last = found[found.length - 1];
    last.number += number;
    last.total += number * arm.mean[k];
    last.moment += number * Math.min(rounds, (k + 0.5) * width);
  });
  if (found.length > 1 && found[found.length - 1].number < least / 2) {
    const rest = found.pop(), last = found[found.length - 1];
    Object.keys(rest).forEach((each) => (last[each] += rest[each]));
  }
  return found.map(({ number, total, moment }) => [moment / number, total / number]);
}

/** One small chart for each arm: its mean reward over time, all on one scale. */
export class Wear {
  constructor() {
    this.list = h("ul", { class: "multiples" });
    this.element = h("section", { "aria-labelledby": "wear" },
      h("h2", { id: "wear" }, "How the arms paid over time"),
      h("p", { class: "hint" }, "Mean reward of each of the most chosen arms, from the first decision to the newest, all on one scale: ten steps with equally many rewards. A line that falls for long means that the arm wears out."),
      this.list);
  }

  update(history) {
    const { rounds } = history, arms = history.arms.map((arm) => ({ arm: arm.arm, points: points(arm, history) }));
    const every = arms.flatMap((arm) => arm.points.map(([, mean]) => mean));
    const low = Math.min(0, ...every), high = Math.max(...every, low + 1e-12);
    const y = (mean) => 44 - (40 * (mean - low)) / (high - low);
    this.list.replaceChildren(...arms.map(({ arm, points: told }, k) => {
      const path = line(told.map(([round]) => (100 * round) / rounds), told.map(([, mean]) => y(mean)));
      return h("li", {},
        h("div", { class: "in" }, h("span", { class: `swatch f${k % COLOURS}`, "aria-hidden": "true" }), h("span", { class: "name", title: name(arm) }, name(arm))),
        s("svg", { viewBox: "0 0 100 46", preserveAspectRatio: "none", "aria-hidden": "true" }, s("path", { class: "ground", d: `M0,${y(low)}H100` }), s("path", { class: `course s${k % COLOURS}`, d: told.length === 1 ? `${path}h0.01` : path })),
        h("small", {}, told.length ? `from ${number(told[0][1])} to ${number(told[told.length - 1][1])}` : "no settled reward yet"));
    }));
  }
}
