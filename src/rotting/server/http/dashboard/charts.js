// Charts over decisions: axes, and a cursor that the pointer and the arrow keys move.
import { h, s, say } from "./dom.js";
import { compact, count } from "./words.js";

const LEFT = 44, RIGHT = 10, TOP = 10, BOTTOM = 24;
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** About `wanted` round numbers between two ends. */
export function ticks(low, high, wanted) {
  const raw = (high - low) / Math.max(1, wanted) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= raw * 0.999);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * step; value += step) found.push(value + 0); // + 0 turns -0 into 0
  return found;
}

const points = (pairs) => pairs.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");

/** A closed shape between two curves. */
export const between = (xs, tops, bottoms) =>
  `M${points(xs.map((x, k) => [x, tops[k]]))}L${points(xs.map((x, k) => [x, bottoms[k]]).reverse())}Z`;

/** A line with gaps where there is no value. */
export function line(xs, ys) {
  let path = "", on = false;
  xs.forEach((x, k) => {
    if (ys[k] === null) on = false;
    else {
      path += `${on ? "L" : "M"}${x.toFixed(1)},${ys[k].toFixed(1)}`;
      on = true;
    }
  });
  return path;
}

export class Chart {
  /**
   * label: for screen readers; height: in pixels; domain(data): the ends of the y axis; show(y): the text of a number on the y
   * axis; draw(data, xs, y): the shapes; describe(data, k): the text for position k; onMove(data, k): called when the cursor moves.
   */
  constructor(options) {
    this.options = options;
    this.data = null;
    this.place = null; // null: the latest position
    this.svg = s("svg", { height: options.height, "aria-hidden": "true" });
    this.frame = h("div", {
      class: "chart", role: "slider", tabindex: "0", "aria-label": `${options.label}. Arrow keys move over the decisions.`,
      onkeydown: (event) => this.key(event), onpointermove: (event) => this.point(event), onpointerdown: (event) => this.point(event),
      onpointerleave: () => this.move(null), onblur: () => this.move(null),
    }, this.svg);
    this.readout = h("p", { class: "readout" });
    this.element = h("div", {}, this.frame, this.readout);
    new ResizeObserver(() => this.redraw()).observe(this.frame);
  }

  update(data) {
    this.data = data;
    if (this.place !== null && this.place >= data.size) this.place = null;
    this.redraw();
  }

  redraw() {
    const width = this.frame.clientWidth;
    if (!this.data || !this.data.size || !width) return;
    const { data, options } = this, { height } = options;
    const [low, high] = options.domain(data);
    const end = Math.max(data.rounds, 1);
    this.x = (round) => LEFT + (round / end) * (width - LEFT - RIGHT);
    const y = (value) => TOP + (1 - (value - low) / (high - low || 1)) * (height - TOP - BOTTOM);
    const xs = data.centres.map(this.x);
    xs[0] = this.x(0);
    if (data.size > 1) xs[data.size - 1] = this.x(end);
    else xs.push(this.x(end));
    const shapes = [];
    for (const each of options.ticks?.(data) ?? ticks(low, high, 4)) {
      shapes.push(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(each), y2: y(each) }));
      shapes.push(s("text", { x: LEFT - 6, y: y(each) + 4, "text-anchor": "end" }, options.show(each)));
    }
    for (const each of ticks(0, end, Math.min(end, width / 110)).filter(Number.isInteger)) {
      const anchor = each === 0 ? "start" : this.x(each) > width - 40 ? "end" : "middle";
      shapes.push(s("text", { x: this.x(each), y: height - 6, "text-anchor": anchor }, each === 0 ? "0 decisions" : compact(each)));
    }
    this.cursor = s("line", { class: "cursor", y1: TOP, y2: height - BOTTOM });
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.replaceChildren(...shapes, ...options.draw(data, xs, y, (value) => this.x(value)), this.cursor);
    this.move(this.place);
  }

  key(event) {
    const last = (this.data?.size ?? 0) - 1, now = this.place ?? last;
    let next = event.key === "Home" ? 0 : event.key === "End" ? last : event.key in STEPS ? now + STEPS[event.key] : null;
    if (next === null || last < 0) return;
    event.preventDefault();
    this.move(Math.min(last, Math.max(0, next)));
  }

  point(event) {
    if (!this.data?.size || !this.x) return;
    const box = this.frame.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    this.move(Math.min(this.data.size - 1, Math.max(0, this.data.ends.findIndex((end) => end >= share * this.data.rounds))));
  }

  move(place) {
    this.place = place;
    if (!this.data?.size || !this.cursor) return;
    const k = place ?? this.data.size - 1;
    this.cursor.setAttribute("x1", this.x(this.data.centres[k]));
    this.cursor.setAttribute("x2", this.x(this.data.centres[k]));
    this.cursor.setAttribute("visibility", place === null ? "hidden" : "visible");
    const [start, end] = [this.data.starts[k], this.data.ends[k]];
    const where = start === end ? `Decision ${count(start)}` : `Decisions ${count(start)} to ${count(end)}`;
    const text = `${where}: ${this.options.describe(this.data, k)}`;
    say(this.readout, text);
    for (const [name, value] of Object.entries({ min: 1, max: this.data.size, now: k + 1, text })) {
      this.frame.setAttribute(`aria-value${name}`, value);
    }
    this.options.onMove?.(this.data, k);
  }
}
