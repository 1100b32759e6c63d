// Numbers and reasons as text for people.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const percents = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

export const count = (value) => whole.format(value);
export const compact = (value) => (Math.abs(value) < 10000 ? whole.format(value) : short.format(value));
export const number = (value) => (value === null || value === undefined ? "–" : three.format(value));
export const percent = (value) => (value === null || value === undefined ? "–" : percents.format(value));
export const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
export const name = (arm) => (typeof arm === "string" ? arm : JSON.stringify(arm));

export function duration(seconds) {
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"]].find(([each]) => seconds % each === 0) ?? [1, "s"];
  return `${count(seconds / size)} ${unit}`;
}

export function policy(row) {
  const params = Object.entries(row.params).map(([key, value]) => `${key} ${value}`);
  return row.policy.toUpperCase() + (params.length ? ` (${params.join(", ")})` : "");
}

const rewards = (reason) =>
  reason.window >= reason.pulls ? `all its ${plural(reason.pulls, "reward")}` : `its newest ${plural(reason.window, "reward")}`;

/**
 * Explain a decision, in words that follow the name of the arm. `countsPending`: whether pending decisions influenced it;
 * `draws`: whether the policy draws arms at random.
 */
export function why(last, countsPending, draws) {
  const { reason, propensity } = last;
  if (!reason) return "was chosen. The reason is not known: the log has not been read that far.";
  if (reason.rule === "holdout") return "was drawn uniformly: this decision is held out, to compare the policy with.";
  if (reason.rule === "floor") return "was chosen because it had less than its floor.";
  if (draws && propensity !== null) {
    const paid = reason.mean === null ? "" : ` It paid ${number(reason.mean)} on average.`;
    return `was drawn with a chance of ${percent(propensity)}: this policy chooses at random.${paid}`;
  }
  if (reason.pulls === 0 && reason.index !== null) return `was chosen while ${plural(reason.pending, "earlier decision")} for it ${reason.pending === 1 ? "is" : "are"} pending: until one settles, it counts as an average arm.`;
  if (reason.pulls === 0 && reason.pending) return `was chosen while no arm had a settled reward: it has ${plural(reason.pending, "earlier decision")}, and no arm has fewer.`;
  if (reason.pulls === 0) return "was chosen because it has no reward yet: every arm is tried before the others are compared.";
  const waits = reason.pending ? ` ${plural(reason.pending, "earlier decision")} for it ${reason.pending === 1 ? "is" : "are"} still pending.` : "";
  if (reason.index === null || reason.mean === null) {
    const paid = reason.mean === null ? "" : ` It paid ${number(reason.mean)} on average of ${rewards(reason)}.`;
    return `was chosen by the rule of this policy.${paid}${waits}`;
  }
  const sum = reason.index < reason.mean
    ? `it paid ${number(reason.mean)} on average of ${rewards(reason)}`
    : `${number(reason.mean)}, the mean of ${rewards(reason)}, plus ${number(reason.index - reason.mean)} for what is still uncertain`;
  const some = reason.rule === "cap" ? " The policy would have chosen an arm that had reached its cap." : last.restricted ? " Not all arms could be chosen." : "";
  const counted = countsPending ? " Pending decisions were counted: they make an arm less uncertain." : "";
  return `was chosen because it had the highest estimate at that moment: ${number(reason.index)} (${sum}).${some}${counted}${waits}`;
}
