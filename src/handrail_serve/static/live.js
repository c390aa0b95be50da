// The feed: one stream while the tab is visible, from the cursor of the last change that was seen.

const LONGEST_WAIT = 15000;
const GATHER = 120;
const LATE = 2000; // what is shown later than this is not live, and the page says so
const SHARE = 15; // the wait after a look, in times of its length: a page asks for a sixteenth of the server

export function follow({ open, onChange, onState, onLocked }) {
  let cursor = "";
  let stream = null;
  let attempt = 0;
  let timer = 0;
  let gathered = new Set();
  let due = 0;
  let isOpen = false;

  const flush = async () => {
    const ids = gathered;
    gathered = new Set();
    const began = performance.now();
    try {
      await onChange(ids);
    } finally {
      const wait = Math.min(LONGEST_WAIT, Math.max(GATHER, SHARE * (performance.now() - began)));
      due = performance.now() + wait;
      timer = setTimeout(() => (gathered.size ? flush() : (timer = 0)), wait);
      if (isOpen) onState(gathered.size && wait > LATE ? "behind" : "live");
    }
  };

  const note = (id) => {
    gathered.add(id);
    if (timer && isOpen && due - performance.now() > LATE) onState("behind");
    if (!timer) timer = setTimeout(flush, GATHER);
  };

  const take = (name, data) => {
    if (name === "change") {
      const told = JSON.parse(data);
      cursor = told.cursor || cursor;
      note(told.sessionId);
    } else if (name === "reset") {
      if (data) cursor = JSON.parse(data).cursor || "";
      note("*");
    }
  };

  const read = async (body, mine) => {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let held = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done || mine !== stream) return;
      held += value.replaceAll("\r", "");
      let end;
      while ((end = held.indexOf("\n\n")) >= 0) {
        let name = "message";
        const data = [];
        for (const line of held.slice(0, end).split("\n")) {
          if (line.startsWith("event:")) name = line.slice(6).trim();
          else if (line.startsWith("data:")) data.push(line.slice(5).trim());
        }
        held = held.slice(end + 2);
        if (name !== "message" || data.length) take(name, data.join("\n"));
      }
    }
  };

  const run = async () => {
    const mine = new AbortController();
    stream = mine;
    while (mine === stream) {
      try {
        const answer = await open(`/api/feed${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ""}`, mine.signal);
        if (answer.status === 401) return onLocked();
        if (!answer.ok) throw new Error(String(answer.status));
        if (attempt) note("*");
        attempt = 0;
        isOpen = true;
        onState("live");
        await read(answer.body, mine);
      } catch {
        if (mine !== stream) return;
      }
      if (mine !== stream) return;
      isOpen = false;
      attempt += 1;
      onState(attempt > 1 ? "gone" : "connecting");
      await new Promise((done) => setTimeout(done, Math.min(LONGEST_WAIT, 500 * 2 ** Math.min(attempt, 6))));
    }
  };

  const stop = () => {
    const held = stream;
    stream = null;
    isOpen = false;
    held?.abort();
    onState("paused");
  };

  let isWanted = false;
  const begin = () => {
    if (isWanted && !stream && !document.hidden) run();
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) begin();
    else if (stream) stop();
  });
  return {
    start: () => {
      isWanted = true;
      begin();
    },
    stop: () => {
      isWanted = false;
      if (stream) stop();
    },
    seen: (told) => (cursor = cursor || told),
  };
}
