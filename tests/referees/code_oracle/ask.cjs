// Asks TypeScript's language service where it would rename and what uses a function, and prints JSON. Arguments: the folder of the
// typescript package, the root of the judged package, the wanted number of renames per kind, and the files
// (relative paths, one per line on stdin). Offsets in the answer are bytes.
"use strict";
const fs = require("fs");
const path = require("path");
const ts = require(process.argv[2]);
const root = fs.realpathSync(process.argv[3]);
const wanted = Number(process.argv[4]);
const files = fs.readFileSync(0, "utf8").split("\n").filter(Boolean);
const full = files.map((file) => path.join(root, file));

const options = {
  allowJs: true,
  checkJs: false,
  noEmit: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.Preserve,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  jsx: ts.JsxEmit.Preserve,
  lib: ["lib.esnext.d.ts"],
  types: [],
  maxNodeModuleJsDepth: 0,
  experimentalDecorators: true,
  allowImportingTsExtensions: true,
  resolveJsonModule: true,
  ...readPaths(),
};

function readPaths() {
  const file = path.join(root, "tsconfig.json");
  if (!fs.existsSync(file)) return {};
  const read = ts.parseConfigFileTextToJson(file, fs.readFileSync(file, "utf8")).config || {};
  const { baseUrl, paths } = read.compilerOptions || {};
  return { ...(baseUrl ? { baseUrl: path.resolve(root, baseUrl) } : {}), ...(paths ? { paths } : {}) };
}

const host = {
  getScriptFileNames: () => full,
  getScriptVersion: () => "1",
  getScriptSnapshot: (name) =>
    fs.existsSync(name) ? ts.ScriptSnapshot.fromString(fs.readFileSync(name, "utf8")) : undefined,
  getCurrentDirectory: () => root,
  getCompilationSettings: () => options,
  getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
  readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists,
  getDirectories: ts.sys.getDirectories,
};
const service = ts.createLanguageService(host);
const program = service.getProgram();

const K = ts.SyntaxKind;
const KINDS = new Map([
  [K.FunctionDeclaration, "function"],
  [K.FunctionExpression, "function"],
  [K.ClassDeclaration, "class"],
  [K.ClassExpression, "class"],
  [K.VariableDeclaration, "variable"],
  [K.Parameter, "parameter"],
  [K.BindingElement, "variable"],
  [K.ImportSpecifier, "import"],
  [K.ImportClause, "import"],
  [K.NamespaceImport, "import"],
  [K.ImportEqualsDeclaration, "import"],
  [K.InterfaceDeclaration, "type"],
  [K.TypeAliasDeclaration, "type"],
  [K.TypeParameter, "type_parameter"],
  [K.EnumDeclaration, "enum"],
  [K.ModuleDeclaration, "namespace"],
]);

function isParameter(node) {
  while (node && (ts.isBindingElement(node) || ts.isObjectBindingPattern(node) || ts.isArrayBindingPattern(node)))
    node = node.parent;
  return node && ts.isParameter(node);
}

const TRACED = new Map([
  [K.FunctionDeclaration, "function"],
  [K.ClassDeclaration, "class"],
  [K.MethodDeclaration, "method"],
]);
const OWNED = new Set([K.MethodDeclaration, K.PropertyDeclaration, K.GetAccessor, K.SetAccessor]);
const places = [];
const owned = [];
const traced = [];
const named = new Map();
for (const name of full) {
  const source = program.getSourceFile(name);
  if (!source) continue;
  const waiting = [source];
  while (waiting.length) {
    const node = waiting.pop();
    if (ts.isIdentifier(node)) named.set(node.text, [...(named.get(node.text) || []), { source, node }]);
    const kind = KINDS.get(node.kind);
    if (kind && node.name && ts.isIdentifier(node.name) && node.name.text && node.name.text !== "this") {
      const shown = kind === "variable" && isParameter(node) ? "parameter" : kind;
      places.push({ source, node: node.name, kind: shown, name: node.name.text });
    }
    if (OWNED.has(node.kind) && ts.isIdentifier(node.name) && ts.isClassLike(node.parent))
      owned.push({ source, node: node.name, kind: "member", name: node.name.text });
    const called = TRACED.get(node.kind) || (isFunctionVariable(node) ? "function" : "");
    if (called && node.name && ts.isIdentifier(node.name) && node.name.text)
      traced.push({ source, node: node.name, kind: called, name: node.name.text });
    ts.forEachChild(node, (child) => void waiting.push(child));
  }
}

function isFunctionVariable(node) {
  const value = ts.isVariableDeclaration(node) && node.initializer;
  return value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value));
}

// How a place uses a name: `call`, `value` (whoever gets it may call it), or `link`: imports, exports, types.
function useOf(file, offset) {
  const source = program.getSourceFile(file);
  const node = source && ts.getTokenAtPosition(source, offset);
  if (!node || ts.findAncestor(node, (each) => ts.isJSDoc(each) || ts.isTypeNode(each))) return "link";
  let at = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node ? node.parent : node;
  const up = at.parent;
  if ((ts.isCallExpression(up) || ts.isNewExpression(up)) && up.expression === at) return "call";
  if (ts.isTaggedTemplateExpression(up) && up.tag === at) return "call";
  if ((ts.isJsxOpeningElement(up) || ts.isJsxSelfClosingElement(up)) && up.tagName === at) return "call";
  if (ts.isDeclaration(up) && up.name === at && !ts.isShorthandPropertyAssignment(up)) return "link";
  if (ts.isImportSpecifier(up) || ts.isExportSpecifier(up) || ts.isExportAssignment(up)) return "link";
  if (ts.isJsxClosingElement(up) || ts.isInterfaceDeclaration(up.parent)) return "link";
  if (ts.isShorthandPropertyAssignment(up) || (ts.isPropertyAssignment(up) && up.initializer === at)) at = up.parent;
  while (ts.isBinaryExpression(at.parent)) {
    const { left, right } = at.parent;
    const isExport = (side) => /^(module\s*\.\s*)?exports\b/.test(side.getText());
    if (isExport(left) || (right !== at && isExport(at))) return "link";
    at = at.parent;
  }
  return "value";
}

function usesOf({ source, node, name, kind }) {
  const start = node.getStart(source);
  const found = [...(service.getReferencesAtPosition(source.fileName, start) || [])];
  // From a declaration the service does not go through CommonJS, from a use it does.
  for (const each of named.get(name) || []) {
    const fileName = each.source.fileName;
    const textSpan = { start: each.node.getStart(each.source), length: name.length };
    const leads = service.getDefinitionAtPosition(fileName, textSpan.start) || [];
    if (leads.some((one) => one.fileName === source.fileName && one.textSpan.start === start))
      if (!found.some((one) => one.fileName === fileName && one.textSpan.start === textSpan.start))
        found.push({ fileName, textSpan });
  }
  return {
    file: path.relative(root, source.fileName),
    start: toBytes(source.fileName, start),
    name,
    kind,
    uses: found.map((each) => ({
      file: path.relative(root, each.fileName),
      start: toBytes(each.fileName, each.textSpan.start),
      use: useOf(each.fileName, each.textSpan.start),
    })),
  };
}

function spread(all, count) {
  if (all.length <= count) return all;
  return Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)]);
}

const bytes = new Map();
function toBytes(file, offset) {
  if (!bytes.has(file)) {
    const text = fs.readFileSync(file, "utf8");
    // TypeScript keeps a byte order mark out of its offsets no more than we do.
    const table = /^[\x00-\x7f]*$/.test(text) ? null : text;
    bytes.set(file, table);
  }
  const text = bytes.get(file);
  return text === null ? offset : Buffer.byteLength(text.slice(0, offset), "utf8");
}

function locations(file, position, preferences) {
  let found;
  try {
    found = service.findRenameLocations(file, position, false, false, preferences);
  } catch (error) {
    return { failed: String(error.message).slice(0, 200) };
  }
  if (!found) return null;
  return found.map((each) => ({
    file: path.relative(root, each.fileName),
    start: toBytes(each.fileName, each.textSpan.start),
    end: toBytes(each.fileName, each.textSpan.start + each.textSpan.length),
    prefix: each.prefixText || "",
    suffix: each.suffixText || "",
  }));
}

function renamesOf(found, count) {
  const sorted = found.sort((a, b) => (a.source.fileName < b.source.fileName ? -1 : a.source.fileName > b.source.fileName ? 1 : a.node.getStart() - b.node.getStart()));
  return spread(sorted, count).map(({ source, node, kind, name }) => {
    const start = node.getStart(source);
    const info = service.getRenameInfo(source.fileName, start, {});
    return {
      file: path.relative(root, source.fileName),
      start: toBytes(source.fileName, start),
      end: toBytes(source.fileName, node.getEnd()),
      name,
      kind,
      refused: info.canRename ? "" : info.localizedErrorMessage,
      keep: info.canRename ? locations(source.fileName, start, { providePrefixAndSuffixTextForRename: true }) : null,
      follow: info.canRename ? locations(source.fileName, start, {}) : null,
    };
  });
}
const answers = [];
for (const kind of new Set(KINDS.values())) answers.push(...renamesOf(places.filter((each) => each.kind === kind), wanted));
const members = renamesOf(owned, 4 * wanted);
const traces = [];
for (const kind of new Set(TRACED.values())) {
  const ofKind = traced.filter((each) => each.kind === kind);
  for (const each of spread(ofKind, wanted)) traces.push(usesOf(each));
}
process.stdout.write(JSON.stringify({ version: ts.version, places: places.length, answers, members, traces }));
