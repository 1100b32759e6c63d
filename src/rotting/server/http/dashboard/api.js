// Requests to this service only. The user types the token in; it is forgotten when the tab is closed.
const PLACE = "rotting-token";
const LONGEST = 30000; // milliseconds between two attempts to connect

export const token = {
  get: () => sessionStorage.getItem(PLACE),
  set: (value) => sessionStorage.setItem(PLACE, value),
  forget: () => sessionStorage.removeItem(PLACE),
};

export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export async function request(path, options = {}) {
  const headers = { ...options.headers };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  const response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  if (response.ok) return response;
  let detail = response.statusText;
  try {
    detail = (await response.json()).detail ?? detail;
  } catch {
    // the response has no problem document: show its status
  }
  throw new Problem(response.status, detail);
}

export const get = async (path, signal) => (await request(path, { signal })).json();

export const sleep = (milliseconds, signal) =>
  new Promise((done) => {
    if (signal?.aborted) return done();
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });

/**
 * Watch the events of a bandit until the signal aborts. `onEvents` is called when there are new ones, `onState` gets whether there
 * is a connection. EventSource cannot send a token, so the stream is read here. After a reconnection the page loads everything again,
 * so that it misses no event.
 */
export async function watch(bandit, signal, { onEvents, onState }) {
  let wait = 1000;
  while (!signal.aborted) {
    try {
      const response = await request(`v1/events?bandit=${encodeURIComponent(bandit)}`, { signal });
      onState(true);
      wait = 1000;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const parts = (text + value).split("\n\n");
        text = parts.pop();
        if (parts.some((part) => part.includes("event: event"))) onEvents();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && [401, 403, 404].includes(error.status)) throw error;
    }
    if (signal.aborted) return;
    onState(false);
    await sleep(wait * (0.5 + Math.random() / 2), signal);
    wait = Math.min(LONGEST, 2 * wait);
  }
}
