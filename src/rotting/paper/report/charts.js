// Draws every `figure.chart` with Plotly from the numbers in its data block, when it comes near the window.
"use strict";
(() => {
  const root = document.documentElement;
  const coarse = matchMedia("(pointer: coarse)").matches; // a finger that drags wants to scroll the page
  const PRINT_WIDTH = 640; // pixels of a page's line
  const LINE_WIDTH = 2;

  const variable = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const faint = (hex) => `${hex}${root.classList.contains("printing") ? "22" : "2b"}`;
  // Plotly reads a little HTML in its texts.
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const number = (value) => (value === null ? "unknown" : value.toLocaleString("en-GB", { maximumSignificantDigits: 5 }));
  const known = (values) => values.filter((value) => value !== null);
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

  function bandTrace(curve, x, colour, floor) {
    // Where an end is below what a logarithmic axis shows, the band goes down to its lower edge.
    const at = x.map((_, k) => k).filter((k) => curve.low[k] !== null && curve.high[k] !== null && curve.high[k] > floor);
    const back = [...at].reverse();
    return {
      type: "scatter",
      mode: "lines",
      x: [...at, ...back].map((k) => x[k]),
      y: [...at.map((k) => curve.high[k]), ...back.map((k) => Math.max(curve.low[k], floor))],
      fill: "toself",
      fillcolor: faint(colour),
      line: { width: 0 },
      hoverinfo: "skip",
    };
  }

  function lineTrace(curve, x, label, colour, panel, floor) {
    const interval = (k) => (curve.low ? ` [${number(curve.low[k])}, ${number(curve.high[k])}]` : "");
    const trace = {
      type: "scatter",
      mode: curve.points ? "lines+markers" : x.length > 1 ? "lines" : "markers",
      name: plain(label.text),
      x,
      y: curve.y,
      line: { color: colour, width: LINE_WIDTH, dash: label.dash },
      marker: { color: colour, size: 8, symbol: label.symbol },
      hoverinfo: "text",
      hovertext: x.map(
        (value, k) =>
          `<b>${plain(label.text)}</b><br>${plain(panel.x_label)}: ${number(value)}<br>` +
          `${plain(panel.y_label)}: ${number(curve.y[k])}${interval(k)}`,
      ),
    };
    if (curve.points && curve.low) {
      trace.error_y = {
        type: "data",
        symmetric: false,
        array: curve.y.map((y, k) => curve.high[k] - y),
        arrayminus: curve.y.map((y, k) => y - Math.max(curve.low[k], Math.min(y, floor))),
        color: colour,
        thickness: 1.2,
        width: 3,
      };
    }
    return trace;
  }

  function xRange(panel, xs, log) {
    const values = known(panel.curves.flatMap((curve) => xs[curve.x])).filter((value) => !log || value > 0);
    if (!values.length) return [0, 1];
    const [low, high] = [least(values), most(values)].map((value) => (log ? Math.log10(value) : value));
    const pad = 0.02 * (high - low || 1);
    return [low - pad, high + pad];
  }

  function yRange(panel, shown, log) {
    const lines = known(shown.flatMap((curve) => curve.y)).filter((value) => !log || value > 0);
    if (!lines.length) return [0, 1];
    const all = [...lines, ...known(shown.flatMap((curve) => (curve.low ? [...curve.low, ...curve.high] : [])))];
    const inside = panel.y_max !== null && shown.some((curve) => most(known(curve.y)) <= panel.y_max);
    const high = inside ? panel.y_max : most(all);
    if (log) {
      const low = Math.log10(least(lines));
      const pad = 0.04 * (Math.log10(high) - low || 1);
      return [low - pad, Math.log10(high) + (inside ? 0 : pad)];
    }
    const low = least(all);
    const pad = 0.05 * (high - low || 1);
    const near = low >= -1e-6 * high && low <= high / 2;
    return [near ? 0 : low - pad, inside ? high : high + pad];
  }

  // A logarithmic axis: every decade, or 1, 2, 5 where there are few of them, or what Plotly finds where there are many.
  function ticks(log, range, size) {
    const decades = range[1] - range[0];
    if (!log || decades > size / 40) return { nticks: Math.max(3, Math.floor(size / 60)) };
    if (decades < 1.3) return { dtick: "D2", minorloglabels: "complete" };
    return { dtick: 1, minor: { ticks: "outside", ticklen: 3, dtick: "D1" } };
  }

  function axis(title, log, range, size, side) {
    return {
      title: { text: plain(title), standoff: 8, font: { size: 12 } },
      type: log ? "log" : "linear",
      range,
      automargin: side,
      ...ticks(log, range, size),
      separatethousands: true,
      exponentformat: "none",
      gridcolor: variable("--grid"),
      linecolor: variable("--muted"),
      tickcolor: variable("--muted"),
      ticks: "outside",
      ticklen: 4,
      showline: true,
      zeroline: false,
      fixedrange: coarse,
    };
  }

  function chart(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const plots = [...figure.querySelectorAll(".plot")];
    const entries = [...figure.querySelectorAll(".legend button")];
    const scales = [...figure.querySelectorAll("[data-axis]")];
    const drawn = new Set(); // the places of the panels that were near the window
    const hidden = new Set();
    const chosen = { x: null, y: null }; // null: each panel as it was made
    let resets = 0;

    // A panel without a positive value stays linear: its logarithmic axis would be empty.
    const isLog = (panel, name) =>
      (chosen[name] ?? panel[`${name}_log`]) &&
      panel.curves.some((curve) => (name === "x" ? data.xs[curve.x] : curve.y).some((value) => value > 0));

    function draw(k) {
      drawn.add(k);
      const panel = data.panels[k];
      const plot = plots[k];
      const [xLog, yLog] = [isLog(panel, "x"), isLog(panel, "y")];
      const shown = panel.curves.filter((curve) => !hidden.has(curve.label));
      const printing = root.classList.contains("printing");
      const width = printing ? (plots.length > 1 ? PRINT_WIDTH / 2 : PRINT_WIDTH) : plot.clientWidth;
      const height = printing ? 0.7 * width : plot.clientHeight;
      const yEnds = yRange(panel, shown, yLog);
      const floor = yLog ? 10 ** yEnds[0] : -Infinity;
      const style = (curve) => variable(`--c${data.labels[curve.label].colour}`);
      const bands = shown.filter((curve) => curve.low && !curve.points);
      const traces = [
        ...bands.map((curve) => bandTrace(curve, data.xs[curve.x], style(curve), floor)),
        ...shown.map((curve) =>
          lineTrace(curve, data.xs[curve.x], data.labels[curve.label], style(curve), panel, floor),
        ),
      ];
      const font = { family: getComputedStyle(document.body).fontFamily, size: 12, color: variable("--text") };
      const layout = {
        width,
        height,
        margin: { l: 48, r: 26, t: 8, b: 40 },
        font,
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        showlegend: false,
        hovermode: "closest",
        hoverdistance: 40,
        hoverlabel: { bgcolor: variable("--raised"), bordercolor: variable("--muted"), font, align: "left" },
        dragmode: coarse ? false : "zoom",
        uirevision: `${xLog} ${yLog} ${resets}`, // a zoom outlives what does not change the axes
        xaxis: axis(panel.x_label, xLog, xRange(panel, data.xs, xLog), width, "bottom"),
        yaxis: axis(panel.y_label, yLog, yEnds, 1.5 * height, "left"),
      };
      Plotly.react(plot, traces, layout, { displayModeBar: false, doubleClick: "reset+autosize" });
    }

    function update() {
      for (const entry of entries) entry.setAttribute("aria-pressed", String(!hidden.has(Number(entry.dataset.label))));
      for (const scale of scales) {
        const states = new Set(data.panels.map((panel) => Boolean(isLog(panel, scale.dataset.axis))));
        const mixed = states.size > 1; // then neither button says how the axes are, and a word does
        scale.setAttribute("aria-pressed", String(!mixed && states.has(scale.dataset.log === "1")));
        scale.parentElement.querySelector(".mixed").hidden = !mixed;
      }
      for (const k of drawn) draw(k);
    }

    function toggle(label) {
      if (!hidden.delete(label)) hidden.add(label);
      update();
    }

    function isolate(label) {
      const alone = !hidden.has(label) && hidden.size === entries.length - 1;
      hidden.clear();
      if (!alone) for (const k of entries.keys()) if (k !== label) hidden.add(k);
      update();
    }

    for (const entry of entries) {
      const label = Number(entry.dataset.label);
      entry.addEventListener("click", (event) => (event.shiftKey ? isolate(label) : toggle(label)));
      entry.addEventListener("dblclick", () => isolate(label)); // its two clicks cancel each other
    }
    for (const scale of scales) {
      scale.addEventListener("click", () => {
        chosen[scale.dataset.axis] = scale.dataset.log === "1";
        update();
      });
    }
    figure.querySelector(".reset")?.addEventListener("click", () => {
      hidden.clear();
      chosen.x = chosen.y = null;
      resets += 1;
      update();
    });
    update();

    const near = new IntersectionObserver(
      (changes) => {
        for (const { isIntersecting, target } of changes) {
          const k = plots.indexOf(target);
          if (isIntersecting && !drawn.has(k)) draw(k);
        }
      },
      { rootMargin: "800px" },
    );
    const sized = new ResizeObserver((changes) => {
      if (root.classList.contains("printing")) return;
      for (const { target } of changes) if (drawn.has(plots.indexOf(target))) draw(plots.indexOf(target));
    });
    for (const plot of plots) {
      near.observe(plot);
      sized.observe(plot);
    }
    return { redraw: () => drawn.forEach(draw), drawAll: () => plots.forEach((_, k) => draw(k)) };
  }

  const charts = [...document.querySelectorAll("figure.chart")].map(chart);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((each) => each.redraw()));
  addEventListener("beforeprint", () => {
    root.classList.add("printing"); // paper is light
    charts.forEach((each) => each.drawAll());
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    charts.forEach((each) => each.redraw());
  });
})();
