/* Draws recorded games, round by round. Nothing is computed here but places on the screen and sums of recorded rewards. */
(function () {
  "use strict";
  const root = document.getElementById("scrub");
  const games = window.RECORDINGS;
  if (!root || !games) return;

  const NS = "http://www.w3.org/2000/svg";
  const state = { problem: 0, run: 0, t: 1, arm: null, timer: null };

  function html(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  function svg(tag, attributes, text) {
    const made = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function choice(label, names, changed) {
    const select = html("select", {});
    names.forEach((name, k) => select.append(html("option", { value: k }, name)));
    select.addEventListener("change", () => changed(Number(select.value)));
    return html("label", {}, label + " ", select);
  }
  const shown = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));

  const slider = html("input", { type: "range", min: 1, step: 1, value: 1, "aria-label": "round" });
  const round = html("output", {});
  const play = html("button", { type: "button" }, "Play");
  const why = html("p", { class: "scrub-why", role: "status" });
  const table = html("table", {});
  const panels = html("div", { class: "scrub-panels" });
  const policyBox = html("span", {});
  const button = (text, title, step) => {
    const made = html("button", { type: "button", title: title, "aria-label": title }, text);
    made.addEventListener("click", () => go(state.t + step));
    return made;
  };

  const problems = choice("Game", games.map((each) => each.problem), (k) => {
    state.problem = k;
    state.arm = null;
    start();
  });
  root.append(
    html("div", { class: "scrub-controls" }, problems, policyBox),
    html("div", { class: "scrub-controls" }, button("−10", "ten rounds back", -10), button("−1", "one round back", -1), slider,
      button("+1", "one round on", 1), button("+10", "ten rounds on", 10), play, round),
    why, html("div", { class: "scrub-table" }, table), panels
  );

  const run = () => games[state.problem].runs[state.run];
  function start() {
    policyBox.replaceChildren(choice("Policy", games[state.problem].runs.map((each) => each.policy), (k) => {
      state.run = k;
      draw();
    }));
    policyBox.querySelector("select").value = state.run;
    slider.max = run().arm.length;
    go(Math.min(state.t, run().arm.length));
  }
  function go(t) {
    state.t = Math.max(1, Math.min(run().arm.length, t));
    slider.value = state.t;
    draw();
  }
  slider.addEventListener("input", () => go(Number(slider.value)));
  play.addEventListener("click", () => {
    if (state.timer !== null) {
      clearInterval(state.timer);
      state.timer = null;
    } else {
      if (state.t === run().arm.length) state.t = 1;
      state.timer = setInterval(() => {
        if (state.t >= run().arm.length) play.click();
        else go(state.t + 1);
      }, 60);
    }
    play.textContent = state.timer === null ? "Play" : "Stop";
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // the theme turns pages with them
    go(state.t + step);
  }, true);

  /* The pulls of an arm before round t. */
  function pulls(arm, t) {
    let n = 0;
    for (let k = 0; k < t - 1; k++) if (run().arm[k] === arm) n++;
    return n;
  }

  function reason(t) {
    const game = run(), arm = game.arm[t - 1];
    const window_ = game.window[arm][t - 1];
    if (pulls(arm, t) === 0) return `Round ${t}: arm ${arm} is pulled, because it was never pulled before.`;
    const mean = `mean ${shown(game.mean[arm][t - 1])} over its last ${window_} reward${window_ === 1 ? "" : "s"}`;
    if (game.index[arm][t - 1] === null)
      return `Round ${t}: arm ${arm} is pulled. It was kept up to window ${window_} (${mean}, width ${shown(game.width[arm][t - 1])}). ${game.rule}`;
    return `Round ${t}: arm ${arm} is pulled. Its index is the largest: ${shown(game.index[arm][t - 1])}, ${mean} and a width of ${shown(game.width[arm][t - 1])}. ${game.rule}`;
  }

  const W = 460, H = 240, LEFT = 46, RIGHT = 10, TOP = 26, BOTTOM = 34;
  function panel(title, xLabel, xs, ys) {
    const finite = ys.filter((y) => y !== null && Number.isFinite(y));
    let low = Math.min(...finite), high = Math.max(...finite);
    if (!finite.length) { low = 0; high = 1; }
    if (high - low < 1e-9) { low -= 0.5; high += 0.5; }
    const pad = 0.06 * (high - low);
    low -= pad; high += pad;
    const first = xs[0], last = Math.max(xs[1], first + 1);
    const x = (value) => LEFT + ((W - LEFT - RIGHT) * (value - first)) / (last - first);
    const y = (value) => H - BOTTOM - ((H - TOP - BOTTOM) * (value - low)) / (high - low);
    const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title });
    picture.append(svg("text", { x: 0, y: 15, class: "title" }, title));
    picture.append(svg("line", { x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM, class: "axis" }));
    picture.append(svg("line", { x1: LEFT, x2: LEFT, y1: TOP, y2: H - BOTTOM, class: "axis" }));
    for (const value of [low + pad, (low + high) / 2, high - pad])
      picture.append(svg("text", { x: LEFT - 5, y: y(value) + 4, class: "tick end" }, Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1)));
    picture.append(svg("text", { x: LEFT, y: H - BOTTOM + 15, class: "tick" }, String(first)));
    picture.append(svg("text", { x: W - RIGHT, y: H - BOTTOM + 15, class: "tick end" }, String(last)));
    picture.append(svg("text", { x: (W + LEFT) / 2, y: H - 4, class: "tick middle" }, xLabel));
    return { picture, x, y, low, high };
  }
  function path(points, kind) {
    let d = "", pen = false;
    for (const [a, b] of points) {
      if (b === null) { pen = false; continue; }
      d += `${pen ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`;
      pen = true;
    }
    return svg("path", { d: d, class: kind });
  }

  function drawRewards(game, arm, t) {
    const n = pulls(arm, t), values = game.reward[arm].slice(0, n), h = game.window[arm][t - 1];
    const made = panel(`Rewards of arm ${arm}: ${n}, of which ${h} in the window`, "pull", [1, Math.max(2, n)], values.length ? values : [0, 1]);
    values.forEach((value, k) => made.picture.append(svg("circle", {
      cx: made.x(k + 1), cy: made.y(value), r: 2.6, class: k >= n - h ? "dot inside" : "dot",
    })));
    const mean = game.mean[arm][t - 1];
    if (mean !== null && h > 0) {
      made.picture.append(path([[made.x(Math.max(1, n - h + 1)), made.y(mean)], [made.x(n), made.y(mean)]], "chosen"));
    }
    return made.picture;
  }
  function drawSums(game, arm, t) {
    const n = pulls(arm, t), h = game.window[arm][t - 1], sums = [0];
    for (let k = 0; k < n; k++) sums.push(sums[k] + game.reward[arm][k]);
    const corners = n > 0 ? [...game.hull[arm][n - 1], n] : [0];
    const made = panel(`Prefix sums of arm ${arm}, and their hull: ${corners.length - 1} of ${n} windows`, "pulls k", [0, Math.max(1, n)], n ? sums : [0, 1]);
    made.picture.append(path(sums.map((s, k) => [made.x(k), made.y(s)]), "sums"));
    made.picture.append(path(corners.map((k) => [made.x(k), made.y(sums[k])]), "hull"));
    corners.forEach((k) => made.picture.append(svg("circle", { cx: made.x(k), cy: made.y(sums[k]), r: 3, class: "corner" })));
    if (h > 0) made.picture.append(path([[made.x(n - h), made.y(sums[n - h])], [made.x(n), made.y(sums[n])]], "chosen"));
    return made.picture;
  }
  function drawIndex(game, t) {
    const T = game.arm.length, K = game.index.length;
    const source = game.index.some((row) => row.some((value) => value !== null)) ? game.index : game.mean;
    const settled = source.flatMap((row) => row.slice(Math.min(3 * K, T - 1)));
    const title = source === game.index ? "Index of each arm, up to this round" : "Mean of each arm's window, up to this round";
    const made = panel(title, "round t", [1, T], settled);
    const clipped = (value) => (value === null ? null : Math.max(made.low, Math.min(made.high, value)));
    source.forEach((row, i) => made.picture.append(path(
      row.slice(0, t).map((value, k) => [made.x(k + 1), clipped(value) === null ? null : made.y(clipped(value))]), `line arm-${i % 6}`)));
    made.picture.append(svg("line", { x1: made.x(t), x2: made.x(t), y1: TOP, y2: H - BOTTOM, class: "now" }));
    return made.picture;
  }
  function drawTruth(game, t) {
    const T = game.arm.length, made = panel("Means, which the policy does not see", "round t", [1, T], game.truth.flat());
    game.truth.forEach((row, i) => made.picture.append(path(
      row.slice(0, t).map((value, k) => [made.x(k + 1), value === null ? null : made.y(value)]), `line arm-${i % 6}`)));
    made.picture.append(svg("line", { x1: made.x(t), x2: made.x(t), y1: TOP, y2: H - BOTTOM, class: "now" }));
    return made.picture;
  }
  function drawTable(game, t) {
    const pulled = game.arm[t - 1];
    const head = html("tr", {}, ...["arm", "pulls", "index", "mean", "window", "width", ""].map((name) => html("th", { scope: "col" }, name)));
    const rows = game.index.map((row, i) => {
      const look = html("button", { type: "button", "aria-pressed": String(i === state.shown), title: `show arm ${i} below` });
      look.append(html("span", { class: `swatch arm-${i % 6}` }), `arm ${i}`);
      look.addEventListener("click", () => { state.arm = state.arm === i ? null : i; draw(); });
      const cells = [String(pulls(i, t)), shown(row[t - 1]), shown(game.mean[i][t - 1]), String(game.window[i][t - 1]), shown(game.width[i][t - 1]),
        i === pulled ? "pulled" : ""];
      return html("tr", i === pulled ? { class: "pulled" } : {}, html("th", { scope: "row" }, look), ...cells.map((text) => html("td", {}, text)));
    });
    table.replaceChildren(html("caption", {}, `Before the pull of round ${t}`), html("thead", {}, head), html("tbody", {}, ...rows));
  }

  function draw() {
    const game = run(), t = state.t, focus = document.activeElement;
    const place = [...table.querySelectorAll("button")].indexOf(focus);
    state.shown = state.arm === null ? game.arm[t - 1] : state.arm;
    round.textContent = `round ${t} of ${game.arm.length}, regret ${game.regret[t - 1].toFixed(1)}`;
    why.textContent = reason(t);
    drawTable(game, t);
    if (place >= 0) table.querySelectorAll("button")[place].focus();
    panels.replaceChildren(drawRewards(game, state.shown, t), drawSums(game, state.shown, t), drawIndex(game, t), drawTruth(game, t));
  }
  state.t = Math.ceil(run().arm.length * 0.45);
  start();
})();
