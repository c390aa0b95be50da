// Writes the test cases of mocha and node:test into the file that Handrail named. Loaded by NODE_OPTIONS into
// every process of node, so it does nothing unless one of the two runs there.
"use strict";

const fs = require("fs");
const path = require("path");
const Module = require("module");

const PLACE = "HANDRAIL_CASES";

class Record {
  constructor(place, runner) {
    this.place = place;
    this.owner = process.pid;
    this.run = `${process.pid}-${Math.random().toString(16).slice(2)}`;
    this.file = fs.openSync(place.path, fs.constants.O_WRONLY | fs.constants.O_APPEND);
    this.isEnded = false;
    this.write("begin", { runner });
  }

  write(at, fields) {
    const line = JSON.stringify({ k: this.place.nonce, at, run: this.run, ...fields });
    fs.writeSync(this.file, `${line}\n`);
  }

  // The name that is missing in a file, and the error without our path.
  writeUnloaded(file, error) {
    const trouble = error ? String(error.message ? `${error.name}: ${error.message}` : error).split("\n")[0] : "";
    this.write("unloaded", {
      file: this.relate(file),
      missing: findMissingName(error, file),
      trouble: trouble.split(this.place.root).join("."),
    });
  }

  end(isEarly) {
    if (!this.isEnded) {
      this.isEnded = true;
      this.write("end", { early: Boolean(isEarly) });
    }
  }

  relate(file) {
    if (!file) return "";
    let real = String(file).replace(/^file:\/\//, "");
    try {
      real = fs.realpathSync(decodeURI(real));
    } catch {
      // a file that is gone keeps its name
    }
    const root = this.place.root + path.sep;
    return real.startsWith(root) ? real.slice(root.length) : "";
  }
}

function claim(runner) {
  const value = process.env[PLACE];
  delete process.env[PLACE];
  if (!value) return null;
  try {
    return new Record(JSON.parse(value), runner);
  } catch {
    return null;
  }
}

// The name that a test uses and that is missing; empty if the error says anything else.
function findMissingName(error, file) {
  if (!error || !file) return "";
  const message = String(error.message || "");
  if (error.code === "MODULE_NOT_FOUND" || error.code === "ERR_MODULE_NOT_FOUND") {
    const found = /Cannot find (?:module|package) '([^']+)'/.exec(message);
    const isOfTest = !error.requireStack || error.requireStack[0] === file;
    return found && isOfTest ? path.basename(found[1]) : "";
  }
  const exported = /does not provide an export named '([^']+)'/.exec(message);
  if (exported) return exported[1];
  const frame = String(error.stack || "").split("\n").find((line) => /^\s+at /.test(line)) || "";
  if (!frame.includes(file)) return "";
  if (error.name === "ReferenceError") return (/^(\S+) is not defined/.exec(message) || [])[1] || "";
  if (error.name !== "TypeError") return "";
  return (/^(?:new )?(?:\(.*\)\.)?([\w$.]+)(?:\(\.\.\.\))? is not a (?:function|constructor)/.exec(message) || [])[1] || "";
}

// mocha

function patchMochaRunner(Runner) {
  const record = claim("mocha");
  if (!record) return;
  mocha.record = record;
  const emit = Runner.prototype.emit;
  Runner.prototype.emit = function recordAndEmit(event, runnable, error) {
    try {
      recordMocha(record, this, event, runnable, error);
    } catch {
      // an odd runnable: its case is not known
    }
    return emit.apply(this, arguments);
  };
}

const mocha = { record: null };

function recordMocha(record, runner, event, runnable, error) {
  if (event === "end") {
    record.end(runner._abort && runner.failures === 0);
    return;
  }
  if (event !== "pass" && event !== "fail" && event !== "pending") return;
  const isHook = runnable.type === "hook";
  let parent = runnable.parent;
  let file = runnable.file;
  while (!file && parent) {
    file = parent.file;
    parent = parent.parent;
  }
  const outcome = event === "pass" ? "passed" : event === "pending" ? "skipped" : isHook ? "error" : "failed";
  const name = runnable.titlePath ? runnable.titlePath().join(" > ") : runnable.fullTitle();
  const missing = event === "fail" ? findMissingName(error || runnable.err, file) : "";
  record.write("case", { name, file: record.relate(file), outcome, missing });
}

// A file that cannot be loaded would end mocha before the others run. It is noted, and they run.
function patchMochaLoading(loading) {
  const load = loading.requireOrImport;
  loading.requireOrImport = async function loadAndRecord(file, ...more) {
    try {
      return await load.call(this, file, ...more);
    } catch (error) {
      if (!mocha.record) throw error;
      noteUnloaded(mocha.record, file, error);
      return {};
    }
  };
}

function noteUnloaded(record, file, error) {
  process.on("exit", () => {
    process.exitCode = process.exitCode || 1;
  });
  console.error(error);
  record.writeUnloaded(file, error);
}

// node:test, in the process of one test file: its results travel to the parent as serialized frames.

function watchNodeTest() {
  const record = claim("node:test");
  if (!record) return;
  const v8 = require("v8");
  const file = process.argv[1];
  const titles = [];
  const seen = { tests: 0, failed: 0, isEnded: false, error: null };
  const write = process.stdout.write;
  process.stdout.write = function recordAndWrite(chunk) {
    if (Buffer.isBuffer(chunk) || chunk instanceof Uint8Array) {
      for (const event of readFrames(v8, Buffer.from(chunk))) {
        recordNodeTest(v8, record, file, titles, seen, event);
      }
    }
    return write.apply(this, arguments);
  };
  process.on("uncaughtExceptionMonitor", (error) => {
    seen.error = seen.error || error;
  });
  process.on("exit", (code) => {
    const place = record.relate(file);
    if (code && !seen.failed) record.writeUnloaded(file, seen.error);
    // The harness listens from its first test on; a file without any is one test, as node counts it.
    const hasTests = seen.tests > 0 || process.listenerCount("beforeExit") > 0;
    if (!code && !hasTests) record.write("case", { name: place, file: place, outcome: "passed", missing: "" });
    record.end(!code && hasTests && !seen.isEnded);
  });
}

function readFrames(v8, buffer) {
  // A frame: the header of the serializer, the size of what follows, and an event.
  const header = new v8.DefaultSerializer();
  header.writeHeader();
  const mark = header.releaseBuffer();
  const events = [];
  let place = 0;
  while (place + mark.length + 4 < buffer.length && buffer.subarray(place, place + mark.length).equals(mark)) {
    const size = buffer.readUInt32BE(place + mark.length);
    const end = place + mark.length + 4 + size;
    if (end > buffer.length) break;
    try {
      const reader = new v8.DefaultDeserializer(buffer.subarray(place + mark.length + 4, end));
      reader.readHeader();
      events.push(reader.readValue());
    } catch {
      return events;
    }
    place = end;
  }
  return events;
}

// An error travels as a mark and the serialized values of its properties.
function decodeError(v8, found) {
  if (!(found instanceof Uint8Array)) return found;
  try {
    const { properties } = v8.deserialize(found.subarray(1));
    const entries = Object.entries(properties).map(([name, property]) => [name, property.value]);
    const error = Object.fromEntries(entries);
    error.cause = decodeError(v8, error.cause);
    return error;
  } catch {
    return null;
  }
}

function recordNodeTest(v8, record, file, titles, seen, event) {
  const data = event && event.data;
  if (!data) return;
  if (event.type === "test:start") {
    titles.length = data.nesting;
    titles[data.nesting] = data.name;
    return;
  }
  if (event.type === "test:plan" && data.nesting === 0) seen.isEnded = true;
  if (event.type !== "test:pass" && event.type !== "test:fail") return;
  const details = data.details || {};
  const error = decodeError(v8, details.error) || {};
  const isSuite = details.type === "suite";
  const isOwn = error.failureType !== "subtestsFailed";
  if (event.type === "test:fail" && data.todo === undefined) seen.failed += 1;
  if (isSuite && (event.type === "test:pass" || !isOwn)) return;
  seen.tests += 1;
  const isSkipped = data.skip !== undefined || data.todo !== undefined;
  const failed = isSuite || error.failureType === "hookFailed" ? "error" : "failed";
  const outcome = isSkipped ? "skipped" : event.type === "test:pass" ? "passed" : failed;
  const name = [...titles.slice(0, data.nesting), data.name].join(" > ");
  const missing = outcome === "failed" ? findMissingName(error.cause || error, file) : "";
  record.write("case", { name, file: record.relate(file), outcome, missing });
}

// Which of them runs here

const PATCHES = [
  [path.join("mocha", "lib", "runner.js"), patchMochaRunner],
  [path.join("mocha", "lib", "nodejs", "esm-utils.js"), patchMochaLoading],
  [path.join("mocha", "lib", "esm-utils.js"), patchMochaLoading],
];

function watchLoading() {
  const load = Module._extensions[".js"];
  Module._extensions[".js"] = function loadAndPatch(module, filename) {
    load.apply(this, arguments);
    const found = PATCHES.find(([end]) => filename.endsWith(path.sep + end));
    if (found) found[1](module.exports);
  };
}

if (process.env[PLACE]) {
  if ((process.env.NODE_TEST_CONTEXT || "").startsWith("child")) watchNodeTest();
  else watchLoading();
}
